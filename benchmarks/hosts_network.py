"""Runs over several machines on one: network namespaces with links and shares of processors.

    python benchmarks/hosts_network.py
    python benchmarks/hosts_network.py --only superstep --json

Needs root, for network namespaces and control groups (v1), and `penstock[cluster]`. The scheduler
and the caller are on a machine of their own, without limits. Three parts:

*scaling*: PageRank on 1, 2 and 4 machines, each with half a core (in periods of 5 ms) and a link of
1 Gbit/s, on Kronecker graphs that grow with them, streamed. Beside it the same processes with the
values of vertices left out of what they send (see ``hosts_ranks.leave_out_values``), alternating.
Seconds are those of the iterations, the smallest of several runs; what is left out shows what the
exchange costs, ``of one`` what more machines cost in total.

*superstep*: on 4 machines, without shares, milliseconds of an iteration over a graph of a few
edges, and of the sum of a number over all ranks through the transport alone.

*recovery*: on 3 machines, seconds from the fault until all ranks exchange again, after one worker
is killed, and after all processes of a machine are killed. If the call ends in an error it is made
again at once; if that needs the machine, it is started again, which is part of the time, and is
reported.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import table, work_folder

import penstock as ps

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))

from machines import network  # noqa: E402
from machines.asking import Answer  # noqa: E402
from machines.certificates import make_certificate  # noqa: E402
from machines.cluster import Cluster, kill  # noqa: E402
from machines.network import Network, Share  # noqa: E402

Row = dict[str, Any]
_CALL_SECONDS = 3600.0


@contextmanager
def cluster_of(hosts: int, share: Share, given: argparse.Namespace, **more: Any) -> Iterator[Any]:
    """Workers on machines with a share each, and the caller on one more."""
    with Network(hosts + 1, share, first=Share(megabits=share.megabits)) as made:
        certificate = make_certificate(made.folder) if given.tls else None
        env = {"PYTHONPATH": str(Path(__file__).resolve().parent)}
        options = {"patience": 10.0, "lease": 120.0, **more}
        with Cluster(made, certificate, env=env, apart=True, **options) as cluster:
            cluster.start()
            yield cluster


def ask(cluster: Cluster, **question: Any) -> Answer:
    """An answer, or the end of the benchmark."""
    assert cluster.caller is not None
    answer = cluster.caller.ask(question, _CALL_SECONDS)
    if answer is None or "error" in answer:
        sys.exit(f"{question}: {answer}\n{cluster.log()}")
    return answer


def pagerank(graph: Path, iterations: int, **options: Any) -> Answer:
    """The question for a run."""
    return {
        "do": "call", "graph": str(graph), "hosts": True, "algorithm": "pagerank",
        "parameters": {"tol": 0, "max_iter": iterations}, "options": options,
    }  # fmt: skip


def leave_out(cluster: Cluster, *, left_out: bool) -> None:
    ask(
        cluster, do="everywhere", module="hosts_ranks", function="leave_out_values",
        args=[left_out],
    )  # fmt: skip


def scaling(given: argparse.Namespace, folder: Path) -> list[Row]:
    """Weak scaling, with the exchange and without."""
    share = Share(cores=given.cores, megabits=given.megabits)
    rows: list[Row] = []
    for hosts in given.hosts:
        scale = given.scale + (hosts - 1).bit_length()
        graph = made_graph(folder, scale)
        question = pagerank(graph, given.iterations, load=False)
        seconds: dict[bool, list[float]] = {False: [], True: []}
        with cluster_of(hosts, share, given) as cluster:
            ask(cluster, **question)  # compiles, and fills what is kept
            for _ in range(given.repeat):
                for left_out in (False, True):
                    leave_out(cluster, left_out=left_out)
                    seconds[left_out].append(sum(ask(cluster, **question)["iteration_seconds"]))
            leave_out(cluster, left_out=False)
        best, without = min(seconds[False]), min(seconds[True])
        first = rows[0]["seconds"] if rows else best
        rows.append(
            {
                "hosts": hosts, "scale": scale, "seconds": best, "without_values": without,
                "ratio": without / best, "of_one": first / best,
            }
        )  # fmt: skip
    return rows


def superstep(given: argparse.Namespace, folder: Path) -> list[Row]:
    """An iteration in which there is nothing to do."""
    few = folder / "few.penstock"
    if not few.exists():
        ps.build(([0, 1, 2, 3], [1, 2, 3, 0]), few)
    count = 500
    with cluster_of(4, Share(), given) as cluster:
        question = pagerank(few, count)
        ask(cluster, **question)
        found = [
            statistics.median(ask(cluster, **question)["iteration_seconds"]) * 1e3
            for _ in range(given.repeat)
        ]
        transport = [
            max(
                ask(
                    cluster, do="run", module="hosts_ranks", function="empty_supersteps",
                    args=[count],
                )["found"]
            )
            for _ in range(given.repeat)
        ]  # fmt: skip
    return [
        {"what": "an iteration of the engine", "milliseconds": min(found)},
        {"what": "a sum of one number", "milliseconds": min(transport)},
    ]


def recovery(given: argparse.Namespace, folder: Path) -> list[Row]:
    """Seconds from a fault until the ranks exchange again."""
    graph = made_graph(folder, given.recovery_scale)
    rows = []
    with cluster_of(3, Share(), given, pause=0.02) as cluster:
        question = pagerank(graph, 100)
        ask(cluster, **question)
        for what in ("worker killed", "host killed"):
            rows += [recover(cluster, what, question) for _ in range(given.repeat)]
    return rows


def recover(cluster: Cluster, what: str, question: Answer) -> Row:
    """One fault; see the description of the file."""
    caller = cluster.caller
    assert caller is not None
    ranks = cluster.ranks()
    victim, others = ranks[-1], [rank["pid"] for rank in ranks[:-1]]
    before = max(map(cluster.exchanges, others))
    caller.tell(question)
    while max(map(cluster.exchanges, others)) < before + 30:
        time.sleep(0.005)
    struck = time.perf_counter()
    if what == "host killed":
        for pid in cluster.machine_of(victim).pids():
            kill(pid)
    else:
        kill(victim["pid"])
    # One more exchange may be begun without the rank that is gone, and no second one.
    reached = max(map(cluster.exchanges, others)) + 3
    noticed, going_on, restarted = None, None, False
    while True:
        if going_on is None and max(map(cluster.exchanges, others)) >= reached:
            going_on = time.perf_counter() - struck
        if caller.has_answer:
            answer = caller.answer(1.0)
            if answer is None:
                sys.exit(f"{what}: the caller has ended\n{cluster.log()}")
            if "digest" in answer:
                break
            noticed = noticed or time.perf_counter() - struck
            if what == "host killed" and not restarted:
                cluster.start_workers()
                restarted = True
            caller.tell(question)
        time.sleep(0.002)
    cluster.start()
    return {
        "fault": what, "noticed": noticed, "going_on": going_on, "in_one_call": noticed is None,
        "started_again": restarted,
    }  # fmt: skip


def made_graph(folder: Path, scale: int) -> Path:
    """A Kronecker graph of 16 edges a vertex."""
    path = folder / f"kron{scale}.penstock"
    if not path.exists():
        ps.generate("rmat", path, scale=scale)
    return path


PARTS = {"scaling": scaling, "superstep": superstep, "recovery": recovery}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Runs over several machines on one.")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--scale", type=int, default=20, help="of the graph of one machine")
    parser.add_argument("--recovery-scale", type=int, default=16)
    parser.add_argument("--cores", type=float, default=0.5, help="of each machine, for scaling")
    parser.add_argument("--megabits", type=int, default=1000, help="of each link, for scaling")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--tls", action="store_true", help="encrypted, with certificates")
    parser.add_argument("--folder", help="where graphs are and stay; default: a temporary one")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    reason = network.missing() or network.missing_groups()
    if reason:
        sys.exit(reason)
    found: dict[str, list[Row]] = {}
    with work_folder(given.folder) as folder:
        for name in given.only:
            found[name] = PARTS[name](given, folder.resolve())
    if given.json:
        print(json.dumps(found))
        return
    for name, rows in found.items():
        print(name)
        table([tuple(rows[0]), *(tuple(row.values()) for row in rows)])
        print()


if __name__ == "__main__":
    main()
