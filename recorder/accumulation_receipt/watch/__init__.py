"""Observing a training loop from outside, without changing what it computes."""

from .watch import Watch

__all__ = ["Watch"]
