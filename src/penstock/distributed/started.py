"""Processes that serve a cluster and end with it: they end when their standard input does, which
also happens if the process that started them is killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

from penstock.distributed.tls import Tls
from penstock.errors import WorkerError

#: The most lines of a process that are kept, and their length.
_LINES, _LENGTH = 20, 2000
#: Seconds for a process to end when its input ends, and after SIGTERM.
_END_SECONDS, _TERM_SECONDS = 10.0, 3.0

#: The command that runs this program.
PROGRAM = (sys.executable, "-m", "penstock")


class StartedProcess:
    """A process of this program, here or on another machine.

    Parameters
    ----------
    name
        Its name in messages.
    command
        The command and its arguments.
    tls
        What it reads from its standard input.
    """

    def __init__(self, name: str, command: Sequence[str], tls: Tls) -> None:
        self.name = name
        self._out: deque[str] = deque(maxlen=_LINES)
        self._err: deque[str] = deque(maxlen=_LINES)
        self._spoke = threading.Event()
        try:
            # A session of its own: Ctrl-C in a terminal does not reach it.
            self._process = subprocess.Popen(
                list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            text = f"hosts: {name}: {command[0]} cannot be run: {error.strerror}"
            raise WorkerError(text) from None
        process: Any = self._process  # none of its pipes is None
        self._pipes: tuple[IO[bytes], ...] = (process.stdin, process.stdout, process.stderr)
        source, out, err = self._pipes
        self._readers = [self._start(out, self._out), self._start(err, self._err)]
        with suppress(OSError):  # it has ended already, and `check` says why
            source.write(tls.as_text().encode())
            source.flush()

    def _start(self, source: IO[bytes], lines: deque[str]) -> threading.Thread:
        def read() -> None:
            for line in iter(lambda: source.readline(_LENGTH), b""):
                lines.append(line.decode(errors="replace").strip())
                self._spoke.set()
            self._spoke.set()

        thread = threading.Thread(target=read, name=f"penstock-{self.name}", daemon=True)
        thread.start()
        return thread

    def check(self) -> None:
        """Raise if it has ended, with what it wrote to stderr."""
        code = self._process.poll()
        if code is None:
            return
        for reader in self._readers:
            reader.join(1.0)
        said = " ".join(filter(None, self._err)) or "it wrote nothing"
        raise WorkerError(f"hosts: {self.name}: ended with exit code {code}: {said}")

    def answer(self, seconds: float) -> dict[str, Any]:
        """The JSON object that it writes when it is ready."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in list(self._out):
                with suppress(ValueError):
                    found = json.loads(line)
                    if isinstance(found, dict) and "address" in found:
                        return found
            self.check()
            self._spoke.wait(0.1)
            self._spoke.clear()
        raise WorkerError(f"hosts: {self.name}: not ready after {seconds:.0f} seconds")

    def release(self) -> None:
        """Tell it to end."""
        with suppress(OSError):
            self._pipes[0].close()

    def close(self) -> None:
        """End it, and wait for that."""
        self.release()
        for seconds, insist in (
            (_END_SECONDS, self._process.terminate),
            (_TERM_SECONDS, self._process.kill),
        ):
            try:
                self._process.wait(seconds)
                break
            except subprocess.TimeoutExpired:
                insist()
        self._process.wait()
        for reader, pipe in zip(self._readers, self._pipes[1:], strict=True):
            reader.join(1.0)
            if not reader.is_alive():
                pipe.close()


def start_scheduler(host: str, tls: Tls) -> StartedProcess:
    """A scheduler on this machine, on any free port."""
    words = ("scheduler", "--host", host, "--port", "0", "--tls", "-", "--until-input-ends")
    return StartedProcess("the scheduler", [*PROGRAM, *words, "--json"], tls)
