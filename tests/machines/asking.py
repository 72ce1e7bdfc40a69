"""A process that answers questions: JSON lines to its input, JSON lines from its output."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable
from typing import Any

Answer = dict[str, Any]


class Asking:
    """The process, from outside."""

    def __init__(self, process: subprocess.Popen[Any]) -> None:
        self.process = process
        self._received = b""

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, question: Answer, seconds: float) -> Answer | None:
        """Its answer; None if there is none in time, or the process has ended."""
        self.tell(question)
        return self.answer(seconds)

    def tell(self, question: Answer) -> None:
        """Ask, and do not wait for the answer."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return

    @property
    def has_answer(self) -> bool:
        """Whether an answer has come, or none will."""
        assert self.process.stdout is not None
        channel = self.process.stdout.fileno()
        return b"\n" in self._received or bool(select.select([channel], [], [], 0)[0])

    def answer(self, seconds: float) -> Answer | None:
        """The next answer; None if there is none in time, or the process has ended."""
        assert self.process.stdout is not None
        channel = self.process.stdout.fileno()
        deadline = time.monotonic() + seconds
        while b"\n" not in self._received:
            left = deadline - time.monotonic()
            if left < 0 or not select.select([channel], [], [], left)[0]:
                return None
            some = os.read(channel, 1 << 20)
            if not some:
                return None
            self._received += some
        line, _, self._received = self._received.partition(b"\n")
        found: Answer = json.loads(line)
        return found

    def close(self) -> None:
        """Kill the process, and close what leads to it."""
        self.process.kill()
        self.process.wait(30)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue


def serve(functions: dict[str, Callable[[Answer], Answer]]) -> None:
    """Answer the questions that come by the functions of their names, until the input ends."""
    import sys

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        question = json.loads(line)
        answers.write(json.dumps(functions[question["do"]](question)) + "\n")
        answers.flush()
