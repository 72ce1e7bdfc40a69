"""Faults in runs over several hosts: processes that are killed or stopped, links that are down or
lose packets, full disks.

Each case is one fault in one run, at a given exchange of the ranks, so that it is the same moment
however busy the machine is. The call returns the same bits as on one
machine, or an error that names what is lost, in time; then nothing is left of the run, and the same
call returns the same bits. Hosts are processes of this machine, or machines that are network
namespaces (root).
"""

from __future__ import annotations

import atexit
import itertools
import random
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torture import Case, Outcome, found, ok, skipped

NAME = "hosts"
DESCRIPTION = "Runs over hosts with faults: the same bits or a clear error, in time."
CATEGORIES = ("kind", "algorithm", "network")
QUICK_CASES = 2
TIMEOUT_SECONDS = 900.0

#: Cases one after another on the same hosts: starting them takes seconds.
_TOGETHER = 12
#: As in machines.faults and machines.trying, which import Penstock.
_KINDS = {
    "processes": ("worker killed", "worker stopped", "caller killed"),
    "machines": (
        "worker killed", "host killed", "worker stopped", "link down", "link down for 2 s",
        "5 % of packets lost", "30 % of packets lost", "disk full", "scheduler killed",
        "caller killed",
    ),
}  # fmt: skip
_ALGORITHMS = (
    "pagerank", "rwr", "bfs", "sssp", "connected_components", "degree_distribution", "heat",
    "circuit", "neural_network",
)  # fmt: skip
#: Processes of one machine have one disk, to which nothing is dealt.
_ONLY_ON_MACHINES = ("deal",)
#: Seconds that each exchange takes longer.
_PAUSE = 0.01
_DISK_BYTES = 32 << 20

_kept: dict[str, Any] = {}


def cases(seed: int) -> Iterator[Case]:
    """Endless; of each network, every kind with every algorithm before any pair comes again."""
    pairs = {
        name: _shuffled(kinds, _ALGORITHMS + _ONLY_ON_MACHINES * (name == "machines"), seed)
        for name, kinds in _KINDS.items()
    }
    for index in itertools.count():
        group, place = divmod(index, _TOGETHER)
        together, rng = random.Random(f"{seed}/hosts/{group}"), random.Random(f"{seed}/{index}")
        # A quarter on processes of this machine, the first ones among them.
        rounds, within = divmod(group, 4)
        number = (rounds if within == 0 else 3 * rounds + within - 1) * _TOGETHER + place
        name = "processes" if within == 0 else "machines"
        kind, algorithm = pairs[name][number % len(pairs[name])]
        yield {
            "network": "processes" if within == 0 else together.choice(["plain", "tls"]),
            "hosts": together.choice([2, 3, 4]),
            "kind": kind,
            "algorithm": algorithm,
            "load": rng.random() < 0.5,
            "victim": rng.randrange(4),
            "moment": round(rng.uniform(-0.1, 1.0), 3),
        }


def _shuffled(kinds: Sequence[str], algorithms: Sequence[str], seed: int) -> list[tuple[str, str]]:
    found = list(itertools.product(kinds, algorithms))
    random.Random(seed).shuffle(found)
    return found


def run(case: Case, workspace: Path) -> Outcome:
    """One fault, on hosts that are kept for the next case."""
    reason = _missing(case["network"])
    if reason:
        return skipped(reason)
    from machines.trying import CALLS, Planned, Wrong

    planned = Planned(
        case["kind"],
        {
            "algorithm": case["algorithm"],
            "parameters": CALLS.get(case["algorithm"]),
            "options": {"load": case["load"]},
        },
        case["victim"],
        case["moment"],
    )
    try:
        _trial(case, workspace).run(planned)
    except Wrong as wrong:
        return found(str(wrong))
    return ok()


def _missing(network: str) -> str:
    """Why a case cannot be tried here; empty if it can."""
    if find_spec("distributed") is None:
        return "Dask's distributed is not installed"
    if network == "processes":
        return ""
    from machines import certificates
    from machines import network as machines

    return machines.missing() or (certificates.missing() if network == "tls" else "")


def _trial(case: Case, workspace: Path) -> Any:
    """Runs on the hosts of a case; those of the case before, if they are alike."""
    key = f"{case['network']} {case['hosts']}"
    if _kept.get("key") != key:
        _close()
        from machines.certificates import make_certificate
        from machines.cluster import Cluster
        from machines.local import LocalWorkers
        from machines.network import Network, Share
        from machines.trying import Trial

        folder = workspace / f"processes-{case['hosts']}"
        cluster: Cluster | LocalWorkers
        if case["network"] == "processes":
            folder.mkdir(exist_ok=True)
            cluster = LocalWorkers(case["hosts"], folder, pause=_PAUSE)
        else:
            network = _kept["network"] = Network(case["hosts"], Share(disk_bytes=_DISK_BYTES))
            certificate = make_certificate(network.folder) if case["network"] == "tls" else None
            cluster = Cluster(network, certificate, pause=_PAUSE)
        _kept["cluster"] = cluster
        _kept["trial"] = Trial(cluster, str(_graph(workspace)))
        _kept["key"] = key
    return _kept["trial"]


@atexit.register
def _close() -> None:
    for name in ("cluster", "network"):
        if name in _kept:
            _kept[name].close()
    _kept.clear()


def _graph(workspace: Path) -> Path:
    """A graph with hubs whose lists are longer than a page, loops, isolated vertices, weights."""
    path = workspace / "hard.penstock"
    if not path.exists():
        import numpy as np

        import penstock as ps
        from penstock.ingest import options

        options.MIN_PAGE_BYTES = 4096
        rng, n, m = np.random.default_rng(3), 900, 9000
        src = np.concatenate([rng.integers(0, n, m), np.zeros(n, int), np.arange(n)])
        some = rng.integers(0, n, m) // (1 + rng.integers(0, 9, m))
        dst = np.concatenate([some, np.arange(n), np.ones(n, int)])
        weights = np.round(rng.random(len(src)) * 8)
        ps.build((src, dst, weights), path, weights=True, num_vertices=1000, page_size="4KiB")
    return path


def shrink(case: Case) -> Iterator[Case]:
    """Fewer hosts, without certificates."""
    if case["hosts"] > 2:
        yield case | {"hosts": 2}
    if case["network"] == "tls":
        yield case | {"network": "plain"}
    if not case["load"]:
        yield case | {"load": True}
