"""The file of one rank: JSON Lines, appended whole lines at a time.

Invariant: what a call of :meth:`Journal.append` writes goes out in one piece that ends with a newline. If the process
is killed, the file holds every piece written before and at most one torn line, which ``receipt verify --partial`` reads.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Iterable, Mapping, Union

from .events import header_line
from .refusal import RecorderError


class Journal:
    """An open microbatch manifest."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], rank: int, contract: Mapping[str, Any], append: bool) -> None:
        self.path = Path(path)
        #: Events that were there before, oldest first; empty for a new file.
        self.earlier: list[Any] = []
        header = header_line(rank, contract)
        if append and self.path.exists() and self.path.stat().st_size > 0:
            self.earlier = _take_up(self.path, header)
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        else:
            try:
                self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError as error:
                raise RecorderError(
                    f"{self.path} exists. A run is recorded once: give another path, or append=True to go on after a "
                    "restart"
                ) from error
            self.append([header])

    @property
    def is_open(self) -> bool:
        """Whether it can be appended to."""
        return self._file >= 0

    def append(self, lines: Iterable[str]) -> None:
        """Writes lines, each without its newline, in one piece."""
        rest = memoryview("".join(line + "\n" for line in lines).encode("ascii"))
        while rest:
            # One call, unless the disk takes only a part of it.
            rest = rest[os.write(self._file, rest) :]

    def sync(self) -> None:
        """Returns when what was written is on the disk."""
        os.fsync(self._file)

    def close(self) -> None:
        """Closes the file; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _take_up(path: Path, header: str) -> list[Any]:
    """The events of an earlier process; what its crash left torn is cut off."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines()
    if not lines or json.loads(lines[0]) != json.loads(header):
        raise RecorderError(f"{path} was begun with another header: rank or contract differ, so this is another run")
    if whole < len(data):
        os.truncate(path, whole)
    return [json.loads(line) for line in lines[1:]]
