"""Bounds of the wire format (its section 10). Anything beyond is refused here, so that no file is written which
the reader would refuse (GA115)."""

from __future__ import annotations

#: The largest count: the largest integer up to which every integer is exact in binary64.
COUNT = 2**53
#: Bytes of one JSON line.
LINE_BYTES = 16 * 1024 * 1024
#: Components of one vector.
VECTOR = 2**20
#: Data-parallel ranks of a run.
RANKS = 65_536
#: Microbatches of one window on one rank.
MICROBATCHES_OF_A_WINDOW = 2**16
#: Decimals of a rounded logged number.
DECIMALS = 17
#: Windows that a restore reaches back.
RESTORED_WINDOWS = 1024
#: Characters of an identifier or an opaque string.
NAME = 128
