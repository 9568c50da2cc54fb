"""Clipping by ``torch.nn.utils.clip_grad_norm_``, which returns the norm before clipping."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .watch import Watch

#: The norm that the wire format's ``clip`` means.
_EUCLIDEAN = 2.0


def install(watch: "Watch") -> None:
    """Observes clippings by the L2 norm of the watched optimizer's parameters."""
    import torch

    def around(original: Any, parameters: Any, max_norm: Any, norm_type: float = 2.0, *args: Any, **kwargs: Any) -> Any:
        # It may be an iterator, which can be read once.
        given = parameters if torch.is_tensor(parameters) else list(parameters)
        listed = [given] if torch.is_tensor(given) else given
        # With an infinite bound it measures, and clips nothing.
        clips = float(norm_type) == _EUCLIDEAN and math.isfinite(max_norm)
        observed = clips and not watch.is_suspended and watch.owns(listed)
        if observed:
            gradient(watch)
        norm = original(given, max_norm, norm_type, *args, **kwargs)
        if observed:
            watch.recorder.clip(float(max_norm), norm)
        return norm

    watch.patches.function(torch.nn.utils.clip_grad, "clip_grad_norm_", around)


def gradient(watch: "Watch") -> None:
    """Notes the gradient before clipping, where asked for."""
    recorder = watch.recorder
    if "gradient" in recorder.records and recorder.evidence is not None:
        recorder.logged(gradient=recorder.evidence.gradient())
