"""Optional evidence: a fixed linear view of the parameters and their gradients.

A choice or projection is fixed for the run and the same on every rank, since both follow from a seed, the order of the
parameters and their shapes alone. Gradients that are None count as 0.
"""

from __future__ import annotations

import random
from typing import Any, Iterable, Mapping, Optional, Sequence, Union


class Coordinates:
    """A seeded choice of D coordinates among all trainable parameters (basis ``coordinates``).

    Args:
        parameters: a module, or parameters in an order that is the same on every rank.
        dimension: D.
        seed: of the choice.
    """

    def __init__(self, parameters: Any, dimension: int, seed: int = 0) -> None:
        self._parameters = _trainable(parameters)
        total = sum(parameter.numel() for parameter in self._parameters)
        if not 1 <= dimension <= total:
            raise ValueError(f"{dimension} coordinates of {total}")
        chosen = sorted(random.Random(seed).sample(range(total), dimension))
        #: For each parameter that has any: (parameter, indices into its flattened elements).
        self._picked: list[tuple[Any, Any]] = []
        self.basis: Mapping[str, Any] = {"kind": "coordinates", "dimension": dimension}
        begin = at = 0
        for parameter in self._parameters:
            end, first = begin + parameter.numel(), at
            while at < dimension and chosen[at] < end:
                at += 1
            if at > first:
                indices = [index - begin for index in chosen[first:at]]
                self._picked.append((parameter, _index_tensor(indices, parameter)))
            begin = end

    def values(self) -> Any:
        """The parameters' coordinates now. [D]"""
        return _joined([parameter.detach().reshape(-1)[indices] for parameter, indices in self._picked])

    def gradient(self) -> Any:
        """The gradient buffers' coordinates now. [D]"""
        return self._pick(parameter.grad for parameter, _ in self._picked)

    def numerator(self, loss_sum: Any) -> Any:
        """Gradient of a loss numerator, by a backward pass of its own that leaves the buffers alone. [D]"""
        return self._pick(_gradients(loss_sum, [parameter for parameter, _ in self._picked]))

    def _pick(self, gradients: Iterable[Optional[Any]]) -> Any:
        return _joined(
            [
                parameter.new_zeros(len(indices)) if gradient is None else gradient.detach().reshape(-1)[indices]
                for (parameter, indices), gradient in zip(self._picked, gradients)
            ]
        )


class Complete(Coordinates):
    """All trainable parameters (basis ``complete``); for small models."""

    def __init__(self, parameters: Any) -> None:
        trainable = _trainable(parameters)
        super().__init__(trainable, sum(parameter.numel() for parameter in trainable))
        self.basis = {**self.basis, "kind": "complete"}


class Sketch:
    """A seeded linear projection of the gradient to D numbers (basis ``sketch``).

    Each parameter is flattened, padded with zeros to R·D elements and read as R rows of D; the sketch is the sum over
    all rows of a seeded sign times the row. Inner products are kept in expectation, since signs of different rows are
    independent (the sign sketch of Alon, Matias and Szegedy, STOC 1996, over rows instead of elements). It costs
    numel/D signs of memory and one pass over the gradient for each microbatch.

    Args:
        parameters: a module, or parameters in an order that is the same on every rank.
        dimension: D.
        seed: names the projection.
    """

    def __init__(self, parameters: Any, dimension: int, seed: int = 0) -> None:
        import torch

        self._parameters = _trainable(parameters)
        self._dimension = dimension
        self.basis: Mapping[str, Any] = {"kind": "sketch", "dimension": dimension, "seed": seed}
        generator = torch.Generator().manual_seed(seed)
        self._signs = []
        for parameter in self._parameters:
            rows = -(-parameter.numel() // dimension)
            bits = torch.randint(0, 2, (rows,), generator=generator)
            self._signs.append((2 * bits - 1).to(device=parameter.device, dtype=torch.float32))

    def gradient(self) -> Any:
        """The sketch of the gradient buffers now, in binary32. [D]"""
        return self._sketch(parameter.grad for parameter in self._parameters)

    def numerator(self, loss_sum: Any) -> Any:
        """The sketch of a loss numerator's gradient, by a backward pass of its own. [D]"""
        return self._sketch(_gradients(loss_sum, self._parameters))

    def _sketch(self, gradients: Iterable[Optional[Any]]) -> Any:
        import torch

        total: Any = None
        for signs, gradient in zip(self._signs, gradients):
            if gradient is None:
                continue
            flat = gradient.detach().reshape(-1).to(torch.float32)
            padded = torch.nn.functional.pad(flat, (0, signs.numel() * self._dimension - flat.numel()))
            part = signs @ padded.reshape(signs.numel(), self._dimension)
            total = part if total is None else total + part.to(total.device)
        return torch.zeros(self._dimension) if total is None else total


#: What a recorder takes as evidence.
Evidence = Union[Coordinates, Sketch]


def _trainable(parameters: Any) -> list[Any]:
    """Each trainable parameter once, in order; a tied one at its first place."""
    given = parameters.parameters() if hasattr(parameters, "parameters") else parameters
    seen: dict[int, Any] = {id(parameter): parameter for parameter in given if parameter.requires_grad}
    return list(seen.values())


def _gradients(loss_sum: Any, parameters: Sequence[Any]) -> Sequence[Optional[Any]]:
    import torch

    return torch.autograd.grad(loss_sum, list(parameters), retain_graph=True, allow_unused=True)


def _index_tensor(indices: Sequence[int], parameter: Any) -> Any:
    import torch

    return torch.tensor(indices, dtype=torch.long, device=parameter.device)


def _joined(pieces: Sequence[Any]) -> Any:
    import torch

    # Parameters may stand on several devices and have several dtypes.
    arithmetic = torch.float64 if any(piece.dtype == torch.float64 for piece in pieces) else torch.float32
    return torch.cat([piece.to(device=pieces[0].device, dtype=arithmetic) for piece in pieces])
