"""The Graph500 benchmark: generate, construct, search from many roots, validate each, and count.

What is timed: generation (edges made and written to disk), construction (from those files to a
graph, and into memory as far as it is kept there), and each search: the whole call, until parents
in the input's labels and levels or distances are arrays. Before anything is timed, the same steps
are gone through with a tiny graph, and one search of each kind is run, as the reference code does:
so no compiling is counted.
"""

from __future__ import annotations

import json
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.algorithms._levels import STATE_BYTES as LEVELS_BYTES
from penstock.algorithms.bfs import bfs
from penstock.algorithms.sssp import STATE_BYTES as SSSP_STATE_BYTES
from penstock.algorithms.sssp import sssp
from penstock.config import MIN_BUDGET_BYTES, format_bytes, memory_budget, parse_bytes, thread_count
from penstock.engine.algorithm import Algorithm
from penstock.engine.frontier import QUEUE_BYTES
from penstock.errors import AccessError, BudgetError, InputError, OptionError, TargetExistsError
from penstock.files import unfinished
from penstock.ingest.build import build
from penstock.ingest.generate import rmat
from penstock.ingest.options import BuildOptions
from penstock.ingest.plan import enough, plan_read
from penstock.interfaces.bench import graph500_rules as rules
from penstock.interfaces.bench.graph500_edges import (
    EdgeList,
    choose_roots,
    edge_bytes,
    vertices_with_edges,
    write_edges,
)
from penstock.interfaces.bench.graph500_report import official
from penstock.interfaces.bench.power import Meter
from penstock.metrics import clock
from penstock.process import return_freed_memory
from penstock.progress import Progress, Silent
from penstock.store.paged import PagedGraph, open_graph
from penstock.version import __version__

NAME = "graph500"
#: What the results are called in the folder that is asked for.
EDGES, GRAPH, RESULTS = "edges", "graph.penstock", "results.json"
#: Edges that are validated at a time.
MIN_PART_ROWS, MAX_PART_ROWS = 1 << 12, 1 << 18
#: The tiny graph that is gone through first.
REHEARSAL_SCALE = 6

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Search:
    """A kernel of the benchmark."""

    algorithm: Algorithm
    validate: Callable[..., rules.Verdict]
    #: Bytes a vertex takes once the search is done: values and parents in the input's labels, and
    #: the arrays of validation; and while it goes on.
    vertex_bytes: int
    state_bytes: int


SEARCHES = {
    "bfs": Search(bfs, rules.validate_bfs, 4 + 8 + rules.BFS_BYTES, LEVELS_BYTES + QUEUE_BYTES),
    "sssp": Search(sssp, rules.validate_sssp, 8 + 8 + rules.SSSP_BYTES, SSSP_STATE_BYTES),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What to run."""

    scale: int
    edgefactor: int = 16
    roots: int = 64
    kernels: tuple[str, ...] = tuple(SEARCHES)
    seed: int = 1
    memory: str | int | None = None
    threads: int | None = None
    page_size: str | int | None = None
    #: Where edge list, graph and results stay; None: nowhere.
    out: Path | None = None

    @property
    def weighted(self) -> bool:
        """Whether edges have weights: they are made for SSSP."""
        return "sssp" in self.kernels


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """How the memory allowed is divided."""

    budget: int
    #: Edges that a thread holds while validating.
    part_rows: int
    #: What each kernel's searches may hold.
    search_bytes: dict[str, int]


def chosen_kernels(names: str) -> tuple[str, ...]:
    """The kernels of a list such as ``"bfs,sssp"``, in their own order."""
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in SEARCHES:
            raise OptionError(f"kernels: there is no {name!r}; there are {', '.join(SEARCHES)}")
    return tuple(name for name in SEARCHES if name in wanted)


def plan_memory(settings: Settings) -> MemoryPlan:
    """Divide the memory between searches and what is held after them; raise if that is too much."""
    budget, threads = memory_budget(settings.memory), thread_count(settings.threads)
    in_flight = (threads + 2) * edge_bytes(weighted=settings.weighted)
    rows = max(MIN_PART_ROWS, min(MAX_PART_ROWS, budget // 16 // in_flight))
    held = {name: SEARCHES[name].vertex_bytes << settings.scale for name in settings.kernels}
    # When results are there, the search has given its own arrays back, but not its lists.
    after = {name: held[name] - (SEARCHES[name].state_bytes << settings.scale) for name in held}
    left = {name: budget - rows * in_flight - max(after[name], 0) for name in held}
    if budget - rows * in_flight - max(held.values()) < MIN_BUDGET_BYTES:
        most = max(held, key=lambda name: held[name])
        least = held[most] + MIN_BUDGET_BYTES
        raise BudgetError(
            f"results and validation of {most} at scale {settings.scale} take "
            f"{format_bytes(held[most])}, which leaves too little of the memory allowed "
            f"({format_bytes(budget)}) to search: "
            f"{enough(least + max(least // 15 + 1, MIN_PART_ROWS * in_flight))}, or choose a "
            "smaller scale"
        )
    return MemoryPlan(budget, rows, left)


def build_options(settings: Settings, plan: MemoryPlan) -> BuildOptions:
    """Each edge both ways, once (the lightest of several), without loops."""
    size = settings.page_size
    return BuildOptions(
        directed=False,
        duplicates="min" if settings.weighted else "last",
        self_loops="drop",
        page_bytes=None if size is None else parse_bytes(size, "page_size"),
        memory=plan.budget,
        threads=thread_count(settings.threads),
    )


def run_benchmark(
    settings: Settings, progress: Progress | None = None, meter: Meter | None = None
) -> dict[str, Any]:
    """Run everything; the numbers, and a row for each search. ``validated`` says whether all
    searches passed; if one did not, there are no ``results``.
    """
    plan = plan_memory(settings)
    build_options(settings, plan)  # raises before anything is made
    meter = Meter.open() if meter is None else meter
    with _workplace(settings.out) as folder:
        rehearsal = folder / "rehearsal"
        rehearsal.mkdir()
        small = replace(settings, scale=min(REHEARSAL_SCALE, settings.scale), roots=1)
        _Benchmark(small, plan, rehearsal, Silent(), meter).run()
        made = folder / "made"
        made.mkdir()
        data = _Benchmark(settings, plan, made, progress or Silent(), meter).run()
        if settings.out is not None:
            for name in (EDGES, GRAPH):
                (made / name).rename(settings.out / name)
            data["folder"] = str(settings.out)
            with unfinished(settings.out / RESULTS, overwrite=False) as temporary:
                temporary.write_text(json.dumps(data, indent=1) + "\n")
    return data


@contextmanager
def _workplace(out: Path | None) -> Iterator[Path]:
    """A folder that goes away, inside of the one that is asked for or else of the current one."""
    place = Path.cwd() if out is None else out
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name in (EDGES, GRAPH, RESULTS) if out is not None else ():
            if (place / name).exists():
                raise TargetExistsError(
                    f"{place / name}: already exists; choose another --out, or remove it"
                )
        with tempfile.TemporaryDirectory(prefix=".graph500-", dir=place) as folder:
            yield Path(folder)
    except PermissionError as error:
        if isinstance(error, AccessError):
            raise
        raise AccessError(f"{error.filename}: no permission to write there") from None


@dataclass(slots=True)
class _Benchmark:
    """One run of all steps."""

    settings: Settings
    plan: MemoryPlan
    folder: Path
    progress: Progress
    meter: Meter
    threads: int = field(init=False)

    def __post_init__(self) -> None:
        self.threads = thread_count(self.settings.threads)

    def run(self) -> dict[str, Any]:
        settings = self.settings
        began = clock()
        edges = self._generate()
        generated = clock()
        graph = self._construct(edges)
        built = clock()
        facts = {
            "num_edges": graph.num_edges,
            "page_bytes": graph.catalog.page_bytes,
            "graph_bytes": sum(
                lists.num_pages * graph.catalog.page_bytes
                for lists in graph.catalog.directions.values()
            ),
        }
        del graph
        return_freed_memory()
        roots = self._choose_roots(edges)
        searches, loads = {}, {}
        for name in settings.kernels:
            searches[name], loads[name] = self._search(name, edges, roots)
            return_freed_memory()
        data: dict[str, Any] = {
            "suite": NAME,
            "version": __version__,
            "scale": settings.scale,
            "edgefactor": settings.edgefactor,
            "seed": settings.seed,
            "num_vertices": edges.num_vertices,
            "num_input_edges": edges.num_edges,
            **facts,
            "roots": roots,
            "roots_asked": settings.roots,
            "threads": self.threads,
            "memory": self.plan.budget,
            "graph_generation": generated - began,
            "construction_time": built - generated + sum(loads.values()),
            "build_seconds": built - generated,
            "load_seconds": loads,
            "validated": all(row["validated"] for rows in searches.values() for row in rows),
            "searches": searches,
            "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "power": {name: _power(rows, self.meter) for name, rows in searches.items()},
        }
        if data["validated"]:
            data["results"] = dict(official(data))
        return data

    def _generate(self) -> EdgeList:
        settings = self.settings
        place = self.folder / EDGES
        place.mkdir()
        rows = plan_read(self.plan.budget, self.threads, 8).chunk_rows
        source = rmat(
            settings.scale, settings.edgefactor, seed=settings.seed, threads=self.threads,
            chunk_rows=rows, weighted=settings.weighted,
        )  # fmt: skip
        return write_edges(source, settings.scale, place, self.progress)

    def _construct(self, edges: EdgeList) -> PagedGraph:
        options = build_options(self.settings, self.plan)
        rows = plan_read(self.plan.budget, self.threads, 8).chunk_rows
        return build(edges.source(rows), self.folder / GRAPH, options, self.progress)

    def _choose_roots(self, edges: EdgeList) -> list[int]:
        settings = self.settings
        marks = vertices_with_edges(edges, self.threads, self.plan.part_rows)
        roots: list[int] = choose_roots(marks, settings.roots, settings.seed).tolist()
        if not roots:
            raise InputError(
                f"no vertex of scale {settings.scale} has an edge to another one; choose a larger "
                "scale or edgefactor"
            )
        if len(roots) < settings.roots:
            self.progress.note(
                f"only {len(roots)} vertices have an edge to another one: there are as many roots"
            )
        return roots

    def _search(self, name: str, edges: EdgeList, roots: Sequence[int]) -> tuple[list[Row], float]:
        """A row for each root, and the seconds it took to load the graph."""
        search, memory = SEARCHES[name], self.plan.search_bytes[name]
        graph = open_graph(self.folder / GRAPH)

        def call(root: int) -> Any:
            return search.algorithm(graph, root, memory=memory, threads=self.threads)

        first = call(roots[0])
        loading = float(first.stats["load_seconds"])
        del first
        self.progress.start(f"{name}, and validation", len(roots), "searches")
        rows = []
        for root in roots:
            with self.meter.measuring() as energy:
                began = clock()
                result = call(root)
                parents, values = result.parents, result.values
                seconds = clock() - began
            began = clock()
            parts = edges.parts(self.plan.part_rows)
            verdict = search.validate(root, parents, values, parts, self.threads)
            rows.append(
                {
                    **_judged(root, verdict, seconds, clock() - began),
                    "bytes_read": result.stats["bytes_read"],
                    "topology": _topology(result.stats),
                    "head_edges": result.stats["head_edges"],
                    "joules": energy.joules,
                    "directions": _directions(result.iterations),
                }
            )
            del result, parents, values
            self.progress.advance(1)
        return rows, loading


def _topology(stats: Row) -> str:
    """Where the lists were: all in memory, their first ``head_edges`` there, or on the disk."""
    if stats["resident"]:
        return "resident"
    return "streamed" if stats["head_edges"] is None else "tiered"


def _directions(steps: Sequence[Row]) -> list[str]:
    """How each level of a BFS was found; a step may find several. Steps of SSSP have no levels."""
    return [step["mode"] for step in steps if "mode" in step for _ in range(step.get("levels", 1))]


def _judged(root: int, verdict: rules.Verdict, seconds: float, validating: float) -> Row:
    passed = verdict.failure is None
    return {
        "root": root,
        "seconds": seconds,
        "nedge": verdict.nedge if passed else None,
        "teps": verdict.nedge / seconds if passed else None,
        "validated": passed,
        "failure": None if passed else str(verdict.failure),
        "validate_seconds": validating,
    }


def _power(rows: Sequence[Row], meter: Meter) -> Row:
    """Watts over all searches, and the rate divided by them; None where it cannot be told."""
    watts = None
    if all(row["joules"] is not None for row in rows):
        watts = sum(row["joules"] for row in rows) / sum(row["seconds"] for row in rows)
    per_watt = None
    if watts is not None and all(row["validated"] for row in rows):
        harmonic_mean = len(rows) / sum(row["seconds"] / row["nedge"] for row in rows)
        per_watt = harmonic_mean / 1e6 / watts
    return {
        "watts": watts,
        "mteps_per_watt": per_watt,
        "counters": [zone.name for zone in meter.zones],
        "trouble": meter.trouble,
    }
