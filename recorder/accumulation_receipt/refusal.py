"""What the recorder raises."""

from __future__ import annotations


class Refused(ValueError):
    """Something that the wire format refuses; it is not written.

    The message names the field, as ``backward.valid_targets: -1, where ...``.
    """


class RecorderError(RuntimeError):
    """The recorder was used in a way that would make the manifest false, such as a backward nobody described."""
