"""The process that makes calls over hosts: ``python -m machines.caller``, on one of them."""

from __future__ import annotations

import faulthandler
import hashlib
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from machines import parts
from machines.asking import Answer, serve
from machines.certificates import Certificate
from penstock.distributed.dealing import deal
from penstock.errors import PenstockError
from penstock.store.paged import open_graph
from penstock.types import Array


class CrewHosts(ps.Hosts):
    """Hosts with options that users do not have."""

    def __init__(self, crew: Any) -> None:
        self._crew = crew


class Caller:
    """What it knows between questions."""

    def __init__(self) -> None:
        self._client: Any = None
        self._options: dict[str, Any] = {}
        self._hosts: CrewHosts | None = None
        self._graphs: dict[str, ps.Graph] = {}

    def clean(self, asked: Answer) -> Answer:
        """Have every worker remove what dead runs have left."""
        return {"left": self._client.run(clean_here)}

    def connect(self, asked: Answer) -> Answer:
        """To a scheduler, once it is there."""
        from distributed import Client

        deadline = time.monotonic() + asked["seconds"]
        security = Certificate(*map(Path, asked["tls"])).security() if asked["tls"] else None
        while self._client is None:
            try:
                self._client = Client(
                    asked["address"], security=security, timeout=5, set_as_default=False
                )
            except OSError as error:
                if time.monotonic() > deadline:
                    return {"error": str(error)}
                time.sleep(0.2)
        self._options = {"insecure": not asked["tls"], "patience": asked["patience"]}
        return {}

    def local(self, asked: Answer) -> Answer:
        """Start processes on this machine."""
        from penstock.distributed.dask_crew import DaskCrew

        crew = DaskCrew.local(asked["count"], 1, patience=asked["patience"])
        self._hosts, self._client = CrewHosts(crew), crew._client
        return {}

    def wait(self, asked: Answer) -> Answer:
        """Until there are workers, all of which answer."""
        from penstock.distributed.dask_crew import DaskCrew

        count, deadline = asked["count"], time.monotonic() + asked["seconds"]
        while time.monotonic() < deadline:
            with suppress(OSError):
                if len(self._client.run(int, on_error="ignore")) == count:
                    if self._hosts is None or self._hosts.size != count:
                        crew = DaskCrew.connect(self._client, threads=1, **self._options)
                        self._hosts = CrewHosts(crew)
                    return {"count": count}
            time.sleep(0.05)
        return {"error": f"there are {len(self._client.nthreads())} workers and not {count}"}

    def describe(self, asked: Answer) -> Answer:
        """Where the ranks are."""
        assert self._hosts is not None
        return {"ranks": self._hosts.describe()}

    def call(self, asked: Answer) -> Answer:
        """An algorithm, over hosts or alone: the hash of its result, or its error."""
        graph = self._graphs.get(asked["graph"])
        if graph is None:
            graph = self._graphs[asked["graph"]] = ps.open(asked["graph"])
        options = dict(asked["options"])
        if asked["hosts"]:
            options["hosts"] = self._hosts
        parameters = {
            name: {int(key): each for key, each in value.items()}
            if isinstance(value, dict)
            else value
            for name, value in asked["parameters"].items()
        }
        begin = time.monotonic()
        try:
            result = getattr(ps, asked["algorithm"])(graph, **parameters, **options)
            found = digest(result)  # columns may be made only now
        except Exception as error:
            return {**error_answer(error), "seconds": time.monotonic() - begin}
        return {
            "digest": found,
            "iterations": len(result.iterations),
            "losses": result.stats.get("losses", []),
            "iteration_seconds": [row.get("seconds", 0.0) for row in result.iterations],
            "seconds": time.monotonic() - begin,
        }

    def deal(self, asked: Answer) -> Answer:
        """Deal a graph out: the hash of all parts, or the error. ``fresh``: what is there of an
        earlier dealing is removed first. Without hosts, into two folders of this machine.
        """
        given = {"num_stripes": asked["stripes"]}
        graph, to = open_graph(asked["graph"]), Path(asked["to"])
        if not asked["hosts"]:
            places = [to.parent / name / to.name for name in ("a", "b")]
            for each in places:
                parts.remove_part(str(each))
                each.parent.mkdir(exist_ok=True)
            deal(graph, places, **given)
            return {"digest": parts.digest_of_parts(map(parts.files_of_part, map(str, places)), 1)}
        if asked["fresh"]:
            self._client.run(parts.remove_part, str(to))
        try:
            deal(graph, to, hosts=self._hosts, copies=asked["copies"], **given)
        except Exception as error:
            return error_answer(error)
        found = self._client.run(parts.files_of_part, str(to))
        return {"digest": parts.digest_of_parts(found.values(), asked["copies"]), "losses": []}

    def run(self, asked: Answer) -> Answer:
        """A function of a module on all ranks at once."""
        assert self._hosts is not None
        return {"found": self._hosts.run(_function(asked), *asked["args"])}

    def everywhere(self, asked: Answer) -> Answer:
        """A function of a module in all workers, apart from a run."""
        return {"found": self._client.run(_function(asked), *asked["args"])}

    def look(self, asked: Answer) -> Answer:
        """What ranks have left behind in each worker."""
        return {"workers": self._client.run(look_here, on_error="ignore")}


def error_answer(error: Exception) -> Answer:
    """How a call ended that raised."""
    return {
        "error": str(error),
        "type": type(error).__name__,
        "planned": isinstance(error, PenstockError),
        "trace": "".join(traceback.format_exception(error)),
    }


def clean_here() -> list[str]:
    """Remove what dead runs have left on this host; what is still there."""
    from penstock.engine.leftovers import find_leftovers, is_gone, remove_leftovers

    found = find_leftovers(young_seconds=0.0)
    remove_leftovers(found)
    return [str(each) for each in found if not is_gone(each)]


def look_here() -> dict[str, int]:
    """What ranks have left behind in this process."""
    import threading

    import psutil

    from penstock.distributed.dask_rank import open_ranks

    names = [thread.name for thread in threading.enumerate()]
    sockets = psutil.Process().net_connections(kind="tcp")
    return {
        "ranks": open_ranks(),
        "threads": sum(name.startswith("penstock-peers") for name in names),
        "listening": sum(each.status == psutil.CONN_LISTEN for each in sockets),
    }


def _function(asked: Answer) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(asked["module"]), asked["function"])
    return found


def digest(result: Any) -> str:
    """The bits of a result."""
    found = hashlib.sha256()
    arrays: list[Array] = [result.ids, result.values]
    arrays += [getattr(result, name) for name in sorted(result._columns)]
    for array in arrays:
        whole = np.ascontiguousarray(array)
        found.update(f"{whole.dtype} {whole.shape} ".encode())
        found.update(whole.tobytes())
    return found.hexdigest()


def main() -> None:
    """Serve until the input ends. SIGUSR1: write to the log what all threads do."""
    faulthandler.register(signal.SIGUSR1)
    caller = Caller()
    functions: dict[str, Callable[[Answer], Answer]] = {
        name: getattr(caller, name)
        for name in (
            "connect",
            "local",
            "wait",
            "describe",
            "call",
            "look",
            "run",
            "everywhere",
            "clean",
            "deal",
        )
    }
    serve(functions)


if __name__ == "__main__":
    main()
