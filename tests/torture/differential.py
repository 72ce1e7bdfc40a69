"""Random graphs, algorithms and options, against other libraries and against other options.

The values of a run are compared with those of NetworkX, igraph, NumPy or plain Python
(``_oracles``), and with a second run on the same graph with other threads, streams and caches,
which must give the same bits. One case in four is also checked by the algorithm's own verifier.
"""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torture import Case, Outcome, found, ok, skipped
from torture._graphs import SHAPES, STORES, build, close, expand, model_of

NAME = "differential"
DESCRIPTION = "Random graphs, algorithms and options against other libraries and other options."
CATEGORIES = ("algorithm", "store", "shape", "ids", "weights")
QUICK_CASES = 29
TIMEOUT_SECONDS = 600.0  # kernels that have not been compiled yet take their time

#: Parameters that name vertices, as numbers from 0; and those with a value for some vertices.
_VERTICES = ("source", "sources", "v", "vertices", "a", "b")
_VALUES = ("fixed", "initial", "inputs", "bias", "personalization", "dangling")
#: Parameters that are not left out to make a case smaller.
_NEEDED = {"source", "vertices", "a", "b", "fixed", "initial", "inputs", "tol", "max_iter"}

_ON_DEVICES = {
    "pagerank", "rwr", "heat", "circuit", "neural_network", "bfs", "sssp", "degree_distribution",
    "connected_components",
}  # fmt: skip
#: Those that may take edges of weight 0, in Penstock and in what it is compared with.
_ZERO_WEIGHTS = {
    "sssp", "closeness", "minimum_spanning_forest", "pagerank", "rwr", "heat", "circuit",
    "neural_network", "induced_subgraph", "cross_edges",
}  # fmt: skip
#: Those that take weight=True for a graph without weights.
_UNWEIGHTED_TOO = {"heat", "circuit", "neural_network"}
#: Those whose oracle is fast enough for thousands of vertices.
_FAST_ORACLES = {
    "bfs", "sssp", "k_hop", "induced_subgraph", "cross_edges", "degree_distribution",
    "connected_components", "strongly_connected_components", "core_number", "k_core",
    "minimum_spanning_forest", "label_propagation", "color", "triangles",
}  # fmt: skip
_SLOW_ORACLES = {"betweenness", "edge_betweenness", "closeness", "truss_number", "k_truss"}

Draw = Callable[[random.Random, int], dict[str, Any]]


def _some(rng: random.Random, n: int, most: int = 3) -> list[int]:
    return [rng.randrange(max(n, 1)) for _ in range(rng.randint(1, most))]


def _numbers(rng: random.Random, n: int, values: tuple[float, ...]) -> list[list[float]]:
    """Pairs of a vertex and a number."""
    return [[v, rng.choice(values)] for v in sorted(set(_some(rng, n, 4)))]


def _maybe(rng: random.Random, **given: Any) -> dict[str, Any]:
    """Each with a chance of a half; of a list, one element."""
    chosen = {key: rng.choice(values) for key, values in given.items()}
    return {key: value for key, value in chosen.items() if rng.random() < 0.5}


def _pagerank(rng: random.Random, n: int) -> dict[str, Any]:
    given: dict[str, Any] = {"tol": 0, "max_iter": rng.choice([1, 5, 20])}
    given |= _maybe(
        rng, alpha=[0.5, 0.85, 0.95], dtype=["float32", "float64"], weight=[True],
        strategy=["pull", "push"],
    )  # fmt: skip
    if rng.random() < 0.3:
        given["personalization"] = _numbers(rng, n, (1.0, 2.5))
    if rng.random() < 0.2:
        given["dangling"] = _numbers(rng, n, (1.0, 0.5))
    if rng.random() < 0.1:
        given |= {"mode": "async", "tol": 1e-9, "max_iter": 1000, "dtype": "float64"}
        given.pop("strategy", None)  # an asynchronous run pulls
    return given


def _simulation(name: str, values: tuple[float, ...]) -> Draw:
    def draw(rng: random.Random, n: int) -> dict[str, Any]:
        given = {name: _numbers(rng, n, values), "max_iter": rng.randint(0, 6)}
        return given | _maybe(rng, weight=[True, False])

    return draw


_PARAMETERS: dict[str, Draw] = {
    "bfs": lambda rng, n: {
        "source": _some(rng, n), **_maybe(rng, depth_limit=[0, 1, 2, 5], breakdown=[True]),
    },
    "sssp": lambda rng, n: {
        "source": _some(rng, n), **_maybe(rng, cutoff=[0, 4, 11], delta=[0.5, 3, 100]),
    },
    "k_hop": lambda rng, n: {"source": _some(rng, n), "k": rng.randint(0, 4)},
    "two_hop": lambda rng, n: {"v": _some(rng, n)} if rng.random() < 0.5 else {},
    "egonet": lambda rng, n: {
        "source": _some(rng, n, 1),
        **_maybe(rng, radius=[0, 2, 3], center=[False], undirected=[True]),
    },
    "induced_subgraph": lambda rng, n: {"vertices": sorted(set(_some(rng, n, 40)))},
    "cross_edges": lambda rng, n: {
        "a": sorted(set(_some(rng, n, 20))), "b": sorted(set(_some(rng, n, 20))),
    },
    "pagerank": _pagerank,
    "rwr": lambda rng, n: {
        "source": sorted(set(_some(rng, n))), "tol": 0, "max_iter": 200,
        **_maybe(rng, restart=[0.15, 0.5], weight=[True], dtype=["float64"]),
    },
    "betweenness": lambda rng, n: {
        **_maybe(rng, normalized=[False], weight=[True], endpoints=[True]),
        **({"sources": sorted(set(_some(rng, n, 5)))} if rng.random() < 0.4 else {}),
    },
    "edge_betweenness": lambda rng, n: {
        **_maybe(rng, normalized=[False], weight=[True]),
        **({"sources": sorted(set(_some(rng, n, 5)))} if rng.random() < 0.4 else {}),
    },
    "closeness": lambda rng, n: _maybe(rng, wf_improved=[False], weight=[True]),
    "degree_distribution": lambda rng, n: _maybe(rng, direction=["in", "both"]),
    "connected_components": lambda rng, n: {},
    "strongly_connected_components": lambda rng, n: {},
    "core_number": lambda rng, n: {},
    "k_core": lambda rng, n: _maybe(rng, k=[0, 1, 2, 3, 50]),
    "truss_number": lambda rng, n: {},
    "k_truss": lambda rng, n: _maybe(rng, k=[2, 3, 4, 50]),
    "minimum_spanning_forest": lambda rng, n: {},
    "label_propagation": lambda rng, n: _maybe(rng, max_iter=[0, 1, 3]),
    "triangles": lambda rng, n: {},
    "clustering": lambda rng, n: {},
    "scan": lambda rng, n: _maybe(rng, epsilon=[0.3, 0.5, 0.9], mu=[1, 3, 5]),
    "color": lambda rng, n: _maybe(rng, strategy=["id", "random"], seed=[1, 2]),
    "radius": lambda rng, n: {"b": 12, **_maybe(rng, effective=[0.5, 1.0])},
    "heat": lambda rng, n: {
        **_simulation("initial", (-2.0, 0.5, 3.0))(rng, n), **_maybe(rng, c=[0.01]),
    },
    "circuit": lambda rng, n: {**_simulation("fixed", (-2.0, 0.0, 3.0))(rng, n), "tol": 0},
    "neural_network": lambda rng, n: {
        **_simulation("inputs", (-1.0, 0.5, 2.0))(rng, n),
        **({"bias": _numbers(rng, n, (0.25, -1.0))} if rng.random() < 0.5 else {}),
    },
}  # fmt: skip

ALGORITHMS = tuple(_PARAMETERS)


def cases(seed: int) -> Iterator[Case]:
    """Endless; a case depends on the seed and its place alone."""
    for index in itertools.count():
        yield draw_case(random.Random(f"{seed}/{index}"), ALGORITHMS[index % len(ALGORITHMS)])


def draw_case(rng: random.Random, algorithm: str) -> Case:
    """A case of an algorithm."""
    store = rng.choices(STORES, (60, 12, 6, 4, 10, 5, 3))[0]
    shape = rng.choice([each for each in SHAPES if each != "long lists"])
    n = rng.choice([0, 1, 2, 3, rng.randint(4, 20), rng.randint(4, 20), rng.randint(20, 150)])
    if algorithm in _SLOW_ORACLES:
        n = min(n, 40)
    if algorithm in _FAST_ORACLES and rng.random() < 0.05:
        shape, n = "long lists", rng.randint(1500, 2500)
    options = _draw_options(rng, algorithm, n)
    parameters = _PARAMETERS[algorithm](rng, n)
    case = {
        "algorithm": algorithm,
        "shape": shape,
        "graph": {"shape": shape, "n": n, "seed": rng.randrange(10**6)},
        "directed": rng.random() < 0.5,
        "ids": rng.choices(("int", "large", "huge", "string"), (6, 1, 1, 2))[0],
        "weights": rng.choice([None, "int32", "float32"]),
        "duplicates": rng.choices(("last", "keep"), (2, 1))[0],
        "store": store,
        "vertex_order": rng.choice(["degree", "none"]),
        "neighbour_order": rng.choice(["id", "input"]),
        "zero_weights": algorithm in _ZERO_WEIGHTS and rng.random() < 0.3,
        "parameters": parameters,
        "run": options,
        "verify": rng.random() < 0.25,
    }
    if store.startswith("live") and case["ids"] == "huge":
        case["ids"] = "large"
    if store in ("banded", "slotted") and rng.random() < 0.1:
        case["directions"] = rng.choice(["out", "in"])
    if case["weights"] is None and algorithm not in _UNWEIGHTED_TOO:
        parameters.pop("weight", None)
    if "devices" in options and not _runs_on_devices(case):
        options.pop("devices")
        options.pop("division", None)
    if case["duplicates"] == "keep":  # what igraph, which takes several edges, does not have
        parameters.pop("endpoints", None)
        parameters.pop("sources", None)
    return case


def _runs_on_devices(case: Case) -> bool:
    """Whether it is said that devices other than one CPU can do this."""
    name, parameters = case["algorithm"], case["parameters"]
    if name == "degree_distribution":
        return bool(parameters.get("direction") == "in")
    if name == "connected_components":
        return not case["directed"]
    one_cpu = {"delta", "breakdown", "strategy", "mode"}
    return name in _ON_DEVICES and not one_cpu & parameters.keys()


def _draw_options(rng: random.Random, algorithm: str, n: int) -> dict[str, Any]:
    options = _maybe(
        rng, threads=[1, 2, 3], load=[False], streams=[1, 2, 5], cache=["keep", "mru", "lfu"],
        cache_pages=[0, 1, 3],
    )  # fmt: skip
    if rng.random() < 0.3:
        options["memory"] = rng.choice([17 << 20, (2 << 20) + 120_000, (2 << 20) + 900_000])
    if algorithm in _ON_DEVICES and rng.random() < 0.2:
        options["devices"] = rng.choice(["cpu:1,cpu:1", "cpu:2,cpu:1,cpu:1", "reference"])
        if options["devices"] == "reference" and n > 25:
            options["devices"] = "cpu:1,cpu:1"
        if "," in options["devices"]:
            options |= _maybe(rng, division=["P", "S"])
    return options


def run(case: Case, workspace: Path) -> Outcome:
    """Run the algorithm twice, and compare."""
    from penstock.errors import BudgetError, ConvergenceError, FormatError

    model = model_of(case)
    parameters = _fit(case["parameters"], model.n)
    if parameters is None:
        return skipped("a graph without vertices has no source")
    folder = workspace / "case"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    graph = build(case, folder)
    try:
        return _compare(case, model, parameters, graph)
    except BudgetError:
        return skipped("the budget is too small, and refused")
    except FormatError:
        if case.get("directions", "both") == "both":
            raise
        return skipped("the graph has the lists of one direction only, and is refused")
    except ConvergenceError:
        if parameters.get("mode") != "async":
            raise
        return skipped("did not converge")
    finally:
        close(graph)


def _compare(case: Case, model: Any, parameters: dict[str, Any], graph: Any) -> Outcome:
    import penstock as ps
    from penstock import algorithms, config
    from penstock.errors import VerificationError
    from torture._oracles import CHECKS

    config.MIN_BUDGET_BYTES = 1 << 20  # so that small graphs do not fit
    name = case["algorithm"]
    given = _in_ids(parameters, model.ids)
    result = getattr(ps, name)(graph, **given, **case["run"])
    try:
        CHECKS[name](model, parameters, result)
        if case["verify"] and not case["store"].startswith("live"):
            algorithms.find(name).verify(graph, result)
    except AssertionError as error:
        return found(f"{name}: differs from the oracle\n{error}\n\n{snippet(case)}")
    except VerificationError as error:
        return found(f"{name}: refused by its verifier\n{error}\n\n{snippet(case)}")
    if parameters.get("mode") != "async":
        other = case["run"] | _other_options(case["run"])
        again = getattr(ps, name)(graph, **given, **other)
        difference = _difference(result, again)
        if difference:
            text = f"{difference}; options of the other run: {other}"
            return found(f"{name}: not the same bits with other threads\n{text}\n\n{snippet(case)}")
    return ok()


def _other_options(options: dict[str, Any]) -> dict[str, Any]:
    """Options that promise the same bits."""
    if "devices" in options:
        return {"streams": 1, "cache_pages": 0}
    return {"threads": 3 if options.get("threads") == 1 else 1, "streams": 3, "cache": "lfu"}


def _difference(result: Any, again: Any) -> str:
    """Which columns of two results differ."""
    import numpy as np

    tables = [(result.to_arrow(), again.to_arrow())]
    if getattr(result, "edges", None) is not None and result.edges is not result:
        tables.append((result.edges.to_arrow(), again.edges.to_arrow()))
    for one, other in tables:
        for name in one.column_names:
            a, b = (each[name].to_numpy(zero_copy_only=False) for each in (one, other))
            if a.dtype.kind == "f":
                a, b = a.view(f"u{a.dtype.itemsize}"), b.view(f"u{b.dtype.itemsize}")
            if not np.array_equal(a, b):
                return f"column {name}"
    return ""


def _fit(parameters: dict[str, Any], n: int) -> dict[str, Any] | None:
    """Vertices that are there, values as dicts; None if there is no vertex to take."""
    fitted = dict(parameters)
    for key in (*_VERTICES, *_VALUES):
        if key in fitted and not isinstance(fitted[key], int | float):
            if n == 0:
                return None
            if key in _VERTICES:
                fitted[key] = list(dict.fromkeys(v % n for v in fitted[key]))
            else:
                fitted[key] = {int(v) % n: value for v, value in fitted[key]}
    return fitted


def _in_ids(parameters: dict[str, Any], ids: tuple[Any, ...]) -> dict[str, Any]:
    """Parameters as a user gives them."""
    spelled = dict(parameters)
    for key, value in parameters.items():
        if isinstance(value, list):
            spelled[key] = [ids[v] for v in value]
            if len(value) == 1 and key in ("source", "v"):
                spelled[key] = ids[value[0]]
        elif isinstance(value, dict):
            spelled[key] = {ids[v]: number for v, number in value.items()}
    return spelled


def shrink(case: Case) -> Iterator[Case]:
    """Fewer edges, then fewer vertices, then plainer options."""
    n, rows = expand(case)
    rows = [list(row) for row in rows]
    if "edges" not in case["graph"]:
        yield case | {"graph": {"n": n, "edges": rows}}
        return
    size = len(rows)
    while size >= 1:
        for begin in range(0, len(rows), size):
            rest = rows[:begin] + rows[begin + size :]
            yield case | {"graph": {"n": n, "edges": rest}}
        size //= 2
    used = sorted({end for u, v, _ in rows for end in (u, v)})
    for fewer in {0, len(used), max(used, default=-1) + 1, n - 1}:
        if len(used) <= fewer < n:
            number = {v: k if fewer <= max(used) else v for k, v in enumerate(used)}
            moved = [[number[u], number[v], w] for u, v, w in rows]
            yield case | {"graph": {"n": fewer, "edges": moved}}
    yield from _plainer(case)
    for k, (u, v, w) in enumerate(rows):
        if w != 1:
            lighter = [*rows[:k], [u, v, 1], *rows[k + 1 :]]
            yield case | {"graph": {"n": n, "edges": lighter}}


def _plainer(case: Case) -> Iterator[Case]:
    """The same graph with fewer options."""
    plain = {
        "store": "memory", "ids": "int", "weights": None, "duplicates": "last",
        "vertex_order": "none", "neighbour_order": "id", "verify": False, "zero_weights": False,
        "shape": None,
    }  # fmt: skip
    for key, value in plain.items():
        if case[key] != value:
            yield case | {key: value}
    if "directions" in case:
        yield {key: value for key, value in case.items() if key != "directions"}
    for part in ("run", "parameters"):
        for key, value in case[part].items():
            rest = {other: each for other, each in case[part].items() if other != key}
            needed = key in _NEEDED or (key == "k" and case["algorithm"] == "k_hop")
            if part == "run" or not needed:
                yield case | {part: rest}
            if isinstance(value, list) and len(value) > 1:
                yield case | {part: case[part] | {key: value[: len(value) // 2]}}


def snippet(case: Case) -> str:
    """Python that builds the graph and runs the algorithm."""
    from torture._snippet import snippet_of

    model = model_of(case)
    parameters = _fit(case["parameters"], model.n)
    return snippet_of(case, _in_ids(parameters or {}, model.ids))
