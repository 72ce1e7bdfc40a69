"""A process in which ranks are made and called: ``python -m machines.rank_server ADDRESS``. It is
for tests of what carries the bytes, without Dask's scheduler and workers.
"""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from machines.asking import Answer, Asking, serve
from machines.certificates import Certificate
from machines.network import Machine

_SECONDS = 120.0


class Server:
    """The process, from inside."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._peers: Any = None

    def open(self, asked: Answer) -> Answer:
        """Begin to listen."""
        from penstock.distributed.dask_peers import CommPeers

        security = Certificate(*map(Path, asked["tls"])).security() if asked["tls"] else None
        self._peers = CommPeers(
            asked["rank"], asked["size"], secret="word", epoch=1, host=self._host,
            security=security, patience=asked["patience"], insecure=security is None,
        )  # fmt: skip
        return {"address": self._peers.address}

    def run(self, asked: Answer) -> Answer:
        """Connect, call a function, and return what it returned or raised."""
        import cloudpickle

        reason, found = None, None
        try:
            self._peers.connect(asked["addresses"])
            found = cloudpickle.loads(base64.b64decode(asked["function"]))(self._peers)
        except Exception as error:
            reason, found = repr(error), error
        finally:
            self._peers.close(reason)
        return {"found": base64.b64encode(cloudpickle.dumps(found)).decode()}


class Servers:
    """One on each machine; a rank that was killed is started again for the next run."""

    def __init__(
        self, machines: list[Machine], certificate: Certificate | None, patience: float
    ) -> None:
        self._machines = machines
        self._tls = certificate and [str(certificate.certificate), str(certificate.key)]
        self._patience = patience
        self._asking: dict[int, Asking] = {}

    def run(self, size: int, function: Callable[[Any], Any]) -> list[Any]:
        """What a function returns or raises on each rank; None if the rank was killed."""
        import cloudpickle

        ranks = [self._server(number) for number in range(size)]
        opened = [
            each.ask(
                {"do": "open", "rank": k, "size": size, "tls": self._tls,
                 "patience": self._patience},
                _SECONDS,
            )
            for k, each in enumerate(ranks)
        ]  # fmt: skip
        question = {
            "do": "run",
            "addresses": [each["address"] for each in opened if each is not None],
            "function": base64.b64encode(cloudpickle.dumps(function)).decode(),
        }
        for each in ranks:
            each.tell(question)
        answers = [each.answer(_SECONDS) for each in ranks]
        for number, answer in enumerate(answers):
            if answer is None:  # it was killed, but may still count as alive for a moment
                self._asking.pop(number).close()
        return [
            answer and cloudpickle.loads(base64.b64decode(answer["found"])) for answer in answers
        ]

    def _server(self, number: int) -> Asking:
        asking = self._asking.get(number)
        if asking is None or not asking.alive:
            if asking is not None:
                asking.close()
            machine = self._machines[number]
            process = machine.start(
                [sys.executable, "-m", "machines.rank_server", machine.address],
                env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            asking = self._asking[number] = Asking(process)
        return asking

    def close(self) -> None:
        for asking in self._asking.values():
            asking.close()


def vanish(peers: Any) -> None:
    """End this process as a crash does."""
    os.kill(os.getpid(), signal.SIGKILL)


def freeze(peers: Any, seconds: float) -> None:
    """Let this process stand still for a while, and go on: another process sees to it."""
    script = f"sleep {seconds}; kill -CONT {os.getpid()}"
    subprocess.Popen(["sh", "-c", script])
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.01)


def _environment() -> Mapping[str, str]:
    here = str(Path(__file__).parent.parent)
    return {"PYTHONPATH": os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))}


if __name__ == "__main__":
    server = Server(sys.argv[1])
    serve({"open": server.open, "run": server.run})
