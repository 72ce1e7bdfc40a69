"""A worker process as the runner has it: started again after a crash or a hang."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event

from torture._campaign import FOLDER, Campaign, Case, Outcome, found

#: How often the size of a worker is looked at.
_LOOK_SECONDS = 0.1

_LOG_CHARACTERS = 4000


class StoppedError(Exception):
    """The run was stopped before the case ended."""


class Worker:
    """Runs cases of a campaign one after another, in a process of its own."""

    def __init__(
        self,
        campaign: Campaign,
        stop: Event,
        *,
        timeout_seconds: float | None = None,
        memory_bytes: int | None = None,
        bounds_checks: bool = False,
    ) -> None:
        self.campaign, self._stop = campaign, stop
        self._timeout_seconds = timeout_seconds or campaign.timeout_seconds
        self._memory_bytes = memory_bytes or campaign.memory_bytes
        self._environment = _environment(bounds_checks=bounds_checks)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    def run(self, case: Case) -> Outcome:
        """Run a case. StoppedError if the run is stopped before it ends."""
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        log_begin = self._log.stat().st_size
        try:
            self._process.stdin.write(json.dumps(case).encode() + b"\n")
            self._process.stdin.flush()
            answer = self._answer()
        except BrokenPipeError:
            answer = None
        if isinstance(answer, dict):
            return Outcome(answer["status"], answer["text"])
        outcome = found(f"{answer or self._death()}\n{self._log_since(log_begin)}")
        self.close()
        return outcome

    def close(self) -> None:
        """End the process and what it started, and remove its folder."""
        if self._process is not None:
            self._kill(signal.SIGKILL)
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    _close_quietly(pipe)
            self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    @property
    def _log(self) -> Path:
        assert self._folder is not None
        return self._folder / "log"

    def _start(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="torture-"))
        workspace = self._folder / "workspace"
        workspace.mkdir()
        command = [sys.executable, "-m", "torture._worker", self.campaign.spelling, str(workspace)]
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment,
                # Its own group: Ctrl-C is for the runner, and what a case starts ends with it.
                start_new_session=True,
            )

    def _answer(self) -> dict[str, str] | str | None:
        """The answer; or why the process had to be ended; None if it ended by itself."""
        assert self._process is not None
        assert self._process.stdout is not None
        channel, received = self._process.stdout.fileno(), b""
        deadline = time.monotonic() + self._timeout_seconds
        while not received.endswith(b"\n"):
            if select.select([channel], [], [], _LOOK_SECONDS)[0]:
                some = os.read(channel, 1 << 16)
                if not some:
                    return None
                received += some
            elif self._stop.is_set():
                raise StoppedError
            elif time.monotonic() > deadline:
                self._kill(signal.SIGABRT)  # faulthandler writes where it hangs
                return f"did not end within {self._timeout_seconds:g} s"
            elif _resident_bytes(self._process.pid) > self._memory_bytes:
                self._kill(signal.SIGKILL)
                return f"took more than {self._memory_bytes >> 20} MiB of memory"
        answer: dict[str, str] = json.loads(received)
        return answer

    def _death(self) -> str:
        """What ended the process."""
        assert self._process is not None
        code = self._process.wait()
        if code < 0:
            return f"worker killed by signal {-code} ({signal.Signals(-code).name})"
        return f"worker exited with code {code}"

    def _kill(self, number: signal.Signals) -> None:
        assert self._process is not None
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return
        if number == signal.SIGABRT:
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                return

    def _log_since(self, begin: int) -> str:
        with open(self._log, "rb") as log:
            log.seek(begin)
            return log.read().decode(errors="replace")[-_LOG_CHARACTERS:]


def _environment(*, bounds_checks: bool) -> dict[str, str]:
    """That of this process, and where this package is; checked kernels have their own caches."""
    path = os.pathsep.join(filter(None, (str(FOLDER.parent), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": path}
    if bounds_checks:
        cache = Path(tempfile.gettempdir()) / f"penstock-torture-checked-{os.getuid()}"
        environment |= {
            "NUMBA_BOUNDSCHECK": "1",
            "NUMBA_CACHE_DIR": str(cache / "numba"),
            "PENSTOCK_CACHE_DIR": str(cache / "penstock"),
        }
    return environment


def _resident_bytes(pid: int) -> int:
    """How large a process is now; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _close_quietly(pipe: object) -> None:
    try:
        pipe.close()  # type: ignore[attr-defined]
    except BrokenPipeError:
        return
