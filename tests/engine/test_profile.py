from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from engine_making import build

from penstock.engine import measuring, profile
from penstock.engine.measuring import measure_cores, measure_disk
from penstock.engine.profile import GATHER_BYTES, Cores, Disk, profile_for
from penstock.store.graph import Graph

SOME = Cores(GATHER_BYTES, (0.5, 1.0, 1.5, 4.0, 6.0), 1.0, 9.0, 0.2, 4.0, 1000.0, 0.05, 0.3, 0.9)
DISK = Disk(3e9, 2e9, 1.5e9, 0.1)


class Counted:
    """Stands for the measurements, which take a second; counts them."""

    def __init__(self) -> None:
        self.cores: list[tuple[int, int]] = []
        self.disks = 0

    def measure_cores(self, threads: int, sizes: tuple[int, ...]) -> Cores:
        self.cores.append((threads, len(sizes)))
        return replace(SOME, gather_bytes=sizes, gather_ns=SOME.gather_ns[: len(sizes)])

    def measure_disk(self, graph: Graph, threads: int) -> Disk | None:
        self.disks += 1
        return DISK


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    made = Counted()
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(measuring, "measure_cores", made.measure_cores)
    monkeypatch.setattr(measuring, "measure_disk", made.measure_disk)
    return made


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("profile") / "g.penstock")


def file_of(tmp_path: Path) -> Path:
    return tmp_path / "cache" / profile.FILE_NAME


def test_it_is_measured_once_and_kept(graph: Graph, counted: Counted) -> None:
    first = profile_for(graph, 2, 1 << 30)
    assert (first.threads, first.cores, first.disk) == (2, SOME, DISK)
    assert profile_for(graph, 2, 1 << 30) == first
    assert (counted.cores, counted.disks) == ([(2, 5)], 1)


def test_another_number_of_threads_is_another_part(graph: Graph, counted: Counted) -> None:
    profile_for(graph, 2, 1 << 30)
    profile_for(graph, 1, 1 << 30)
    profile_for(graph, 2, 1 << 30)
    assert (counted.cores, counted.disks) == ([(2, 5), (1, 5)], 1)


def test_little_memory_measures_less_and_more_memory_measures_the_rest(
    graph: Graph, counted: Counted
) -> None:
    assert len(profile_for(graph, 2, 40 << 20).cores.gather_bytes) == 4
    profile_for(graph, 2, 33 << 20)
    assert len(profile_for(graph, 2, 1 << 30).cores.gather_bytes) == 5
    assert len(profile_for(graph, 2, 1 << 20).cores.gather_bytes) == 5
    assert counted.cores == [(2, 4), (2, 5)]


def test_it_can_be_measured_anew(graph: Graph, counted: Counted) -> None:
    profile_for(graph, 2, 1 << 30)
    profile_for(graph, 2, 1 << 30, anew=True)
    assert (len(counted.cores), counted.disks) == (2, 2)


def _cut(kept: dict[str, Any]) -> str:
    return json.dumps(kept)[:-9]


def _other_machine(kept: dict[str, Any]) -> str:
    return json.dumps({**kept, "machine": {**kept["machine"], "cores": 1000}})


def _other_version(kept: dict[str, Any]) -> str:
    return json.dumps({**kept, "version": profile.VERSION + 1})


def _nan(kept: dict[str, Any]) -> str:
    kept["cores"]["2"]["call_ns"] = math.nan
    kept["disks"] = {place: {**disk, "rate": 0} for place, disk in kept["disks"].items()}
    return json.dumps(kept)


def _missing(kept: dict[str, Any]) -> str:
    del kept["cores"]["2"]["gather_ns"]
    kept["disks"] = dict.fromkeys(kept["disks"], 7)
    return json.dumps(kept)


def _uneven(kept: dict[str, Any]) -> str:
    kept["cores"]["2"]["gather_ns"] = [1.0]
    kept["disks"] = {}
    return json.dumps(kept)


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _other_machine,
        _other_version,
        _nan,
        _missing,
        _uneven,
        lambda kept: "[]",
        lambda kept: json.dumps({**kept, "cores": [], "disks": []}),
    ],
)
def test_a_file_that_is_damaged_or_of_another_machine_is_made_again(
    damage: Any, graph: Graph, counted: Counted, tmp_path: Path
) -> None:
    first = profile_for(graph, 2, 1 << 30)
    path = file_of(tmp_path)
    path.write_text(damage(json.loads(path.read_text())))
    assert profile_for(graph, 2, 1 << 30) == first
    assert (len(counted.cores), counted.disks) == (2, 2)
    assert profile_for(graph, 2, 1 << 30) == first
    assert (len(counted.cores), counted.disks) == (2, 2)


def test_where_nothing_can_be_kept_it_is_measured_each_time(
    graph: Graph, counted: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "file"))
    assert profile_for(graph, 2, 1 << 30) == profile_for(graph, 2, 1 << 30)
    assert len(counted.cores) == 2


def test_a_graph_in_memory_has_no_disk(counted: Counted) -> None:
    assert profile_for(build(None), 2, 1 << 30).disk is None
    assert counted.disks == 0


def test_cores_are_measured() -> None:
    found = measure_cores(2, GATHER_BYTES[:2])
    assert found.gather_bytes == GATHER_BYTES[:2]
    for each in fields(Cores):
        value = getattr(found, each.name)
        for number in value if isinstance(value, tuple) else (value,):
            assert math.isfinite(number)
            assert number >= 0
    assert 0 < found.gather_ns[0] <= found.gather_ns[1] < 1000
    assert 0 < found.vertex_ns < 1000
    assert found.decode_edge_ns + found.decode_vertex_ns > 0
    assert found.array_ns > 0


def test_a_disk_is_measured(graph: Graph) -> None:
    found = measure_disk(graph, 1)
    assert found is not None
    assert found.rate >= found.stream_rate > 0
    assert found.rate >= found.random_rate > 0
    assert found.ratio == found.rate / found.random_rate >= 1
    assert found.cpu_ns > 0
