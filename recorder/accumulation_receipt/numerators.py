"""Loss numerators: the summed loss over a microbatch's valid targets, in nats."""

from __future__ import annotations

from typing import Any


def loss_sum_from_logits(
    logits: Any, labels: Any, ignore_index: int = -100, shift: bool = True, precise: bool = False
) -> Any:
    """Summed cross-entropy, computed once more from the logits (``numerator_source``: recomputed).

    It costs a second softmax over the logits and, for the time of the call, their copy in the arithmetic used; the
    graph is not touched. Where that is too much, record the framework's loss times its divisor instead.

    Args:
        logits: [rows, T, vocabulary] or [T, vocabulary]; any floating-point dtype.
        labels: [rows, T] or [T].
        ignore_index: labels that take no part.
        shift: whether position t is predicted at t - 1.
        precise: in binary64 instead of binary32; the copy is then twice as large.

    Returns:
        A 0-dimensional tensor on the logits' device, without a graph.
    """
    import torch

    with torch.no_grad():
        kept = logits.detach()
        targets = labels.to(kept.device)
        if shift:
            kept, targets = kept[..., :-1, :], targets[..., 1:]
        # binary64 logits stay binary64; half precision is widened, as the frameworks do.
        arithmetic = torch.float64 if precise or kept.dtype == torch.float64 else torch.float32
        kept = kept.reshape(-1, kept.shape[-1]).to(arithmetic)
        return torch.nn.functional.cross_entropy(kept, targets.reshape(-1), ignore_index=ignore_index, reduction="sum")
