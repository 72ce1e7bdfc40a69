"""Statistics and lines of Graph500, against its formulas spelled out."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.interfaces.bench.graph500_report import (
    as_lines,
    beyond_official,
    official,
    rate_statistics,
    statistics,
)

PLACES = ("min", "firstquartile", "median", "thirdquartile", "max")
#: The reference code's names, in its order, for a run of both kernels.
NAMES = [
    *("SCALE", "edgefactor", "NBFS", "graph_generation", "num_mpi_processes", "construction_time"),
    *(f"bfs  {name}_time" for name in (*PLACES, "mean", "stddev")),
    *(f"sssp {name}_time" for name in (*PLACES, "mean", "stddev")),
    *(f"{name}_nedge" for name in (*PLACES, "mean", "stddev")),
    *(f"bfs  {name}_TEPS" for name in (*PLACES, "harmonic_mean", "harmonic_stddev")),
    *(f"sssp {name}_TEPS" for name in (*PLACES, "harmonic_mean", "harmonic_stddev")),
    *(f"bfs  {name}_validate" for name in (*PLACES, "mean", "stddev")),
    *(f"sssp {name}_validate" for name in (*PLACES, "mean", "stddev")),
]

times = st.floats(1e-6, 1e4)


@given(st.lists(times, min_size=1, max_size=70))
def test_statistics(values):
    found = statistics(values)
    n, ordered = len(values), sorted(values)
    assert (found["min"], found["max"]) == (ordered[0], ordered[-1])
    assert found["mean"] == pytest.approx(np.mean(values))
    # The two values in the middle of a half, counted from below and from above.
    assert found["firstquartile"] == pytest.approx((ordered[(n - 1) // 4] + ordered[n // 4]) / 2)
    assert found["median"] == pytest.approx(np.median(values))
    assert found["thirdquartile"] == pytest.approx(
        (ordered[n - 1 - (n - 1) // 4] + ordered[n - 1 - n // 4]) / 2
    )
    if n == 1:
        assert found["stddev"] is None
    else:
        assert found["stddev"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)


@given(st.lists(st.tuples(st.integers(1, 10**12), times), min_size=2, max_size=70))
def test_rates(searches):
    nedge, seconds = zip(*searches, strict=True)
    teps = np.array(nedge) / np.array(seconds)
    found = rate_statistics(nedge, seconds)
    n = len(teps)
    harmonic_mean = n / (1 / teps).sum()
    assert found["harmonic_mean"] == pytest.approx(harmonic_mean)
    # As the specification has it: sqrt(sum((1 / teps - 1 / mean)**2)) / (n - 1) * mean**2
    error = np.sqrt(((1 / teps - 1 / harmonic_mean) ** 2).sum()) / (n - 1) * harmonic_mean**2
    assert found["harmonic_stddev"] == pytest.approx(error, rel=1e-6, abs=1e-6 * harmonic_mean)
    assert found["min"] == pytest.approx(teps.min())
    assert found["max"] == pytest.approx(teps.max())
    assert found["median"] == pytest.approx(1 / np.median(1 / teps))
    places = [found[name] for name in PLACES]
    assert places == sorted(places)


def test_rates_of_known_searches():
    found = rate_statistics([100, 100, 300, 400], [1.0, 2.0, 2.0, 1.0])
    assert found == pytest.approx(
        {
            "min": 50.0,
            "firstquartile": 1 / ((1 / 50 + 1 / 100) / 2),
            "median": 1 / ((1 / 100 + 1 / 150) / 2),
            "thirdquartile": 1 / ((1 / 150 + 1 / 400) / 2),
            "max": 400.0,
            "harmonic_mean": 4 / (1 / 50 + 1 / 100 + 1 / 150 + 1 / 400),
            "harmonic_stddev": found["harmonic_stddev"],
        }
    )
    assert rate_statistics([10], [2.0])["harmonic_stddev"] is None


def searches(count, factor):
    return [
        {
            "root": k, "seconds": factor * (k + 1.0), "nedge": 16777006, "validate_seconds": 0.25,
            "topology": "resident" if factor == 1 else "tiered", "bytes_read": 0,
        }
        for k in range(count)
    ]  # fmt: skip


def made_up(kernels=("bfs", "sssp"), count=64, power=None):
    data = {
        "scale": 20, "edgefactor": 16, "roots": list(range(count)), "graph_generation": 2.5,
        "construction_time": 8.125, "version": "1.2", "threads": 2, "memory": 10**8,
        "peak_memory": 3 * 10**8, "graph_bytes": 2 * 10**8,
        "searches": {name: searches(count, k + 1) for k, name in enumerate(kernels)},
    }  # fmt: skip
    nothing = {"watts": None, "mteps_per_watt": None}
    return data | {"power": dict.fromkeys(kernels, power or nothing)}


def parsed(text):
    """As scripts read it: what follows the name and its colon, the mark aside."""
    return {
        re.match(r"([^:]+):", line)[1]: line.split(":", 1)[1].replace("!", " ").strip()
        for line in text.splitlines()
    }


def test_official_names_and_their_order():
    assert [name for name, _ in official(made_up())] == NAMES
    one = [name for name, _ in official(made_up(["sssp"]))]
    assert one == [name for name in NAMES if not name.startswith("bfs ")]


def test_lines_are_aligned_and_can_be_read():
    text = as_lines(official(made_up()))
    lines = text.splitlines()
    assert lines[0] == "SCALE:                          20"
    assert lines[6] == "bfs  min_time:                  1"
    assert "mean_nedge:                     16777006" in lines
    assert f"bfs  harmonic_mean_TEPS:     !  {16777006 / 32.5:g}" in lines
    assert {re.match(r"[^:]+:[ !]+", line).end() for line in lines} == {32}
    values = parsed(text)
    assert list(values) == NAMES
    assert all(math.isfinite(float(value)) for value in values.values())
    assert float(values["sssp mean_time"]) == 65
    assert float(values["bfs  median_validate"]) == 0.25


def test_one_search_has_no_deviation():
    values = parsed(as_lines(official(made_up(count=1))))
    assert values["bfs  stddev_time"] == values["bfs  harmonic_stddev_TEPS"] == "nan"
    assert values["bfs  mean_time"] == "1"


def test_what_cannot_be_measured_is_not_zero():
    values = parsed(as_lines(beyond_official(made_up())))
    assert values["bfs  MTEPS_per_watt"] == values["sssp watts"] == "unavailable"
    assert values["bfs  topology"] == "resident"
    assert values["sssp topology"] == "tiered"
    assert values["peak_memory"] == "300.0 MB"
    known = beyond_official(made_up(power={"watts": 50.0, "mteps_per_watt": 11.8}))
    assert parsed(as_lines(known))["bfs  MTEPS_per_watt"] == "11.8"
