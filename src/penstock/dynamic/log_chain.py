"""Reading the logs of a graph one after another: all that was logged since its base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from penstock.dynamic.disk import Disk
from penstock.dynamic.log_reader import LogReader, Record, Recovery


class LogChain:
    """Logs that follow each other, read as :class:`LogReader` reads one: iterate over it once, then
    ask for its recovery. Only the last log may end with a torn tail.

    Parameters
    ----------
    logs
        The file and the tag of each, in their order.
    since
        What an earlier reading found: go on after that, in the log where it ended.
    """

    def __init__(
        self, logs: Sequence[tuple[Path, int]], disk: Disk, since: Recovery | None = None
    ) -> None:
        paths = [path for path, _ in logs]
        self._logs = list(logs) if since is None else list(logs)[paths.index(since.path) :]
        self._disk = disk
        self._since = since
        self._found: list[Recovery] = []
        #: The log that is being read, or was read last.
        self.path = self._logs[0][0]

    @property
    def recovery(self) -> Recovery:
        """What was found in the last log, with the batches of all; known when all are read."""
        if len(self._found) < len(self._logs):
            raise ValueError("the logs have not been read to their end yet")
        return replace(self._found[-1], records=sum(found.records for found in self._found))

    @property
    def num_bytes(self) -> int:
        """How long the logs are together."""
        return sum(found.end.end for found in self._found)

    def __iter__(self) -> Iterator[Record]:
        since = None if self._since is None else self._since.end
        for path, tag in self._logs:
            self.path = path
            follows = self._found[-1] if self._found else None
            reader = LogReader(path, tag, disk=self._disk, since=since, follows=follows)
            yield from reader
            self._found.append(reader.recovery)
            since = None
