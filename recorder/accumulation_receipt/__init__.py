"""Record what a training loop does with gradient accumulation; ``receipt verify`` then says whether it was right.

::

    recorder = Recorder("rank-0.jsonl", contract)
    recorder.attach(optimizer, scheduler=scheduler)
    recorder.backward(loss, valid_targets=n, loss_sum=loss_sum)   # instead of loss.backward()
"""

from .evidence import Complete, Coordinates, Sketch
from .numerators import loss_sum_from_logits
from .presets import contract_for
from .recorder import Recorder
from .refusal import RecorderError, Refused
from .targets import count_targets

__all__ = [
    "Complete",
    "Coordinates",
    "Recorder",
    "RecorderError",
    "Refused",
    "Sketch",
    "contract_for",
    "count_targets",
    "loss_sum_from_logits",
]
