"""Results in parts: a Parquet file of each rank, and a folder that is a whole result or none."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from losing import FragileHosts
from rank_making import ThreadHosts, build_hard, hard_edges

import penstock as ps
from penstock.distributed import answers, part_fetching, result_parts
from penstock.distributed.part_fetching import check_room, fetch_columns, keep_large, put_from
from penstock.distributed.result_parts import Target, place_parts
from penstock.distributed.thread_peers import run_on_threads
from penstock.engine.ownership import Vertices
from penstock.engine.peers import PeerLost
from penstock.errors import (
    CorruptionError,
    FormatError,
    InputNotFoundError,
    OptionError,
    TargetExistsError,
    WorkerError,
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("ranks"), directed=True)


@pytest.fixture(scope="module")
def named(tmp_path_factory: Any) -> ps.Graph:
    src, dst, _ = hard_edges(200, 900)
    place = tmp_path_factory.mktemp("names") / "names.penstock"
    return ps.build((src.astype(str), dst.astype(str)), place)


@pytest.fixture(scope="module")
def huge_ids(tmp_path_factory: Any) -> ps.Graph:
    src, dst, _ = hard_edges(200, 900)
    place = tmp_path_factory.mktemp("huge") / "huge.penstock"
    far = np.uint64(1) << np.uint64(63)
    return ps.build((src.astype(np.uint64) + far, dst.astype(np.uint64) + far), place)


def _files(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("algorithm", ["pagerank", "bfs", "connected_components"])
@pytest.mark.parametrize("kind", ["graph", "named", "huge_ids"])
def test_the_rows_of_one_machine(request: Any, tmp_path: Path, kind: str, algorithm: str) -> None:
    graph = request.getfixturevalue(kind)
    call = getattr(ps, algorithm)
    args = (graph.ids[7],) if algorithm == "bfs" else ()
    folder = tmp_path / "ranks"
    found = call(graph, *args, hosts=ThreadHosts(3), out=folder)
    expected = call(graph, *args)
    assert _files(tmp_path) == ["ranks"]
    assert _files(folder) == [*(f"part-0000{k}.parquet" for k in range(3)), "result.json"]
    tables = [pq.read_table(folder / f"part-0000{k}.parquet") for k in range(3)]
    rows = [row for table in tables for row in table.to_pylist()]
    for table in tables:
        ids = table["id"].to_pylist()
        assert ids == sorted(ids)
        assert table.schema == expected.to_arrow().schema
    assert sorted(rows, key=lambda row: row["id"]) == expected.to_arrow().to_pylist()
    for result in (found, ps.read_parts(folder, verify=True)):
        assert len(result) == len(expected)
        assert result.to_arrow() == expected.to_arrow()
        assert result.values.dtype == expected.values.dtype
        assert result.top(3) == expected.top(3)
        assert result[graph.ids[3]] == expected[graph.ids[3]]


def test_programs_are_written_too(graph: ps.Graph, tmp_path: Path) -> None:
    given = {"vector": lambda vertex: vertex.index * 1.0, "tol": None, "max_iter": 2}
    functions = (lambda m, v: m * v, "add", lambda v, a: 0.1 * a)
    found = ps.gimv(graph, *functions, hosts=ThreadHosts(2), out=tmp_path / "ranks", **given)
    expected = ps.gimv(graph, *functions, **given)
    np.testing.assert_array_equal(found.values, expected.values)


def test_a_result_that_all_ranks_have_is_one_file(graph: ps.Graph, tmp_path: Path) -> None:
    found = ps.degree_distribution(graph, hosts=ThreadHosts(3), out=tmp_path / "ranks")
    assert _files(tmp_path / "ranks") == ["part-00000.parquet", "result.json"]
    expected = ps.degree_distribution(graph)
    assert found.to_arrow() == expected.to_arrow()


def test_the_document_says_what_was_run(graph: ps.Graph, tmp_path: Path) -> None:
    found = ps.pagerank(
        graph, alpha=0.5, max_iter=3, tol=0, hosts=ThreadHosts(2), out=tmp_path / "ranks"
    )
    document = json.loads((tmp_path / "ranks" / "result.json").read_text())
    assert document["algorithm"] == "pagerank"
    assert document["parameters"]["alpha"] == 0.5
    assert document["parameters"]["personalization"] is None
    assert document["ranks"] == 2
    assert document["rows"] == graph.num_vertices == sum(each["rows"] for each in document["parts"])
    assert all(each["host"] == socket.gethostname() for each in document["parts"])
    again = ps.read_parts(tmp_path / "ranks")
    assert again.stats["edges_traversed"] == found.stats["edges_traversed"]
    assert len(again.iterations) == 3
    assert found.stats["out"] == str(tmp_path / "ranks")


def test_no_vertices(tmp_path: Path) -> None:
    none: list[int] = []
    graph = ps.build((none, none), tmp_path / "none.penstock")
    found = ps.pagerank(graph, hosts=ThreadHosts(2), out=tmp_path / "ranks")
    assert len(found) == len(found.values) == 0


# Targets


def test_what_is_there_stays(graph: ps.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    for overwrite, text in ((False, "already exists"), (True, "no result in parts")):
        with pytest.raises(TargetExistsError, match=text):
            ps.pagerank(graph, hosts=ThreadHosts(2), out=folder, overwrite=overwrite)
    assert _files(folder) == ["mine"]


def test_a_result_is_replaced_if_asked(graph: ps.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    ps.pagerank(graph, hosts=ThreadHosts(3), out=folder)
    with pytest.raises(TargetExistsError):
        ps.bfs(graph, 5, hosts=ThreadHosts(2), out=folder)
    assert ps.read_parts(folder).name == "pagerank"
    found = ps.bfs(graph, 5, hosts=ThreadHosts(2), out=folder, overwrite=True)
    assert _files(tmp_path) == ["ranks"]
    assert len(_files(folder)) == 3
    np.testing.assert_array_equal(found.parents, ps.bfs(graph, 5).parents)


def test_a_folder_needs_hosts(graph: ps.Graph, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="to_parquet"):
        ps.pagerank(graph, out=tmp_path / "ranks")
    with pytest.raises(InputNotFoundError, match="missing"):
        ps.pagerank(graph, hosts=ThreadHosts(2), out=tmp_path / "missing" / "ranks")
    assert _files(tmp_path) == []


@pytest.mark.parametrize("failing", ["write", "publish"])
def test_a_failed_run_leaves_nothing(
    graph: ps.Graph, tmp_path: Path, monkeypatch: Any, failing: str
) -> None:
    folder = tmp_path / "ranks"
    ps.pagerank(graph, hosts=ThreadHosts(2), out=folder)

    def fail(*args: Any) -> None:
        raise OSError("the disk is gone")

    if failing == "publish":
        monkeypatch.setattr(result_parts, "_write_document", fail)
    else:
        write = ps.Result.to_parquet

        def to_parquet(result: ps.Result, path: Path) -> None:
            if path.name == "part-00001.parquet":
                fail()
            write(result, path)

        monkeypatch.setattr(ps.Result, "to_parquet", to_parquet)
    with pytest.raises(OSError, match="the disk is gone"):
        ps.bfs(graph, 5, hosts=ThreadHosts(2), out=folder, overwrite=True)
    assert _files(tmp_path) == ["ranks"]
    assert ps.read_parts(folder, verify=True).name == "pagerank"


def test_ranks_with_disks_of_their_own(graph: ps.Graph, tmp_path: Path, monkeypatch: Any) -> None:
    """As if the caller saw nothing of what the ranks have written."""
    folder = tmp_path / "ranks"
    ps.bfs(graph, 5, hosts=ThreadHosts(3), out=folder)
    monkeypatch.setattr(result_parts, "_is_there", lambda *args: False)
    found = ps.pagerank(graph, hosts=ThreadHosts(2), out=folder, overwrite=True)
    assert _files(tmp_path) == ["ranks"]
    assert _files(folder) == ["part-00000.parquet", "part-00001.parquet", "result.json"]
    np.testing.assert_array_equal(found.values, ps.pagerank(graph).values)


def test_one_rank_of_a_host_gives_the_name(tmp_path: Path) -> None:
    target = Target(tmp_path / "ranks", "ab" * 12, "cd" * 4, overwrite=False)
    target.hidden.mkdir()
    (target.hidden / "part-00000.parquet").write_text("")
    run_on_threads(4, place_parts, target)
    assert _files(tmp_path) == ["ranks"]


# Reading


@pytest.fixture
def written(graph: ps.Graph, tmp_path: Path) -> Path:
    ps.pagerank(graph, max_iter=1, tol=0, hosts=ThreadHosts(2), out=tmp_path / "ranks")
    return tmp_path / "ranks"


def test_a_part_that_is_elsewhere(written: Path) -> None:
    (written / "part-00001.parquet").unlink()
    found = ps.read_parts(written)
    assert len(found) == 1000
    with pytest.raises(InputNotFoundError, match=f"rank 1 wrote it on {socket.gethostname()}"):
        _ = found.values


def test_a_part_that_was_changed(written: Path) -> None:
    part = written / "part-00001.parquet"
    data = bytearray(part.read_bytes())
    part.write_bytes(data[:-1])
    with pytest.raises(CorruptionError, match="bytes"):
        _ = ps.read_parts(written).values
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    with pytest.raises(CorruptionError, match="SHA-256"):
        ps.read_parts(written, verify=True)


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        (None, InputNotFoundError, "not a whole result"),
        ("{", FormatError, "is not JSON"),
        ("[]", FormatError, "does not describe"),
        ('{"format": "penstock-result", "version": 99}', FormatError, "version 99"),
        ('{"format": "penstock-result", "version": 1}', FormatError, "has no columns"),
    ],
)
def test_a_folder_that_is_no_result(
    tmp_path: Path, text: str | None, error: type[Exception], says: str
) -> None:
    if text is not None:
        (tmp_path / "result.json").write_text(text)
    with pytest.raises(error, match=says):
        ps.read_parts(tmp_path)


# Pieces


@pytest.mark.parametrize("piece_bytes", [1, 100, 4000])
def test_large_results_come_in_pieces(graph: ps.Graph, monkeypatch: Any, piece_bytes: int) -> None:
    monkeypatch.setattr(part_fetching, "PIECE_BYTES", max(piece_bytes, 100))
    for name, args in (("pagerank", ()), ("bfs", (5,)), ("connected_components", ())):
        found = getattr(ps, name)(graph, *args, hosts=ThreadHosts(3))
        assert found.to_arrow() == getattr(ps, name)(graph, *args).to_arrow()
        assert part_fetching._KEPT == {}


def test_pieces_are_put_where_they_belong() -> None:
    vertices = Vertices(np.array([2, 5, 9]), np.array([4, 6, 12]))
    for size in (1, 2, 3, 5, 6):
        target = np.full(13, -1)
        values = np.arange(6) * 10
        for begin in range(0, 6, size):
            put_from(vertices, target, values[begin : begin + size], begin)
        assert target.tolist() == [-1, -1, 0, 10, -1, 20, -1, -1, -1, 30, 40, 50, -1]


def test_a_part_that_is_lost_is_an_error() -> None:
    from penstock.engine.over_hosts import Part

    part = Part("x", np.array([0]), np.array([5]), {"x": np.arange(5)}, ())
    sent = keep_large("token", 0, part, piece_bytes=8)
    assert len(sent.columns["x"]) == 0
    part_fetching.forget_parts(0, "token")
    with pytest.raises(WorkerError, match="rank 0 no longer has its part"):
        fetch_columns(ThreadHosts(1), "token", [sent], 5, piece_bytes=8)


def test_results_that_do_not_fit_are_refused_before_the_run() -> None:
    check_room(1000, room=4000)
    with pytest.raises(OptionError, match="give out=FOLDER"):
        check_room(1001, room=4000)


def test_parts_of_a_lost_attempt_are_removed(
    graph: ps.Graph, tmp_path: Path, monkeypatch: Any
) -> None:
    write, lost = result_parts.write_part, []

    def losing(target: Any, rank: int, table: Any) -> Any:
        found = write(target, rank, table)
        if rank == 2 and not lost:
            lost.append(rank)
            raise PeerLost(rank, "the test has ended it")
        return found

    monkeypatch.setattr(answers, "write_part", losing)
    hosts = FragileHosts(3, 10_000, fewer=1)
    found = ps.pagerank(graph, hosts=hosts, out=tmp_path / "ranks")
    assert len(found.stats["losses"]) == 1
    names = ["part-00000.parquet", "part-00001.parquet", "result.json"]
    assert _files(tmp_path / "ranks") == names
    assert len(found) == graph.num_vertices


def test_a_rank_of_a_lost_attempt_that_writes_late(
    graph: ps.Graph, tmp_path: Path, monkeypatch: Any
) -> None:
    """A process that was frozen goes on while the next attempt writes its parts."""
    write, late = result_parts.write_part, []

    def writing(target: Any, rank: int, table: Any) -> Any:
        if rank == 1 and not late:
            late.append((target, rank, table))
            raise PeerLost(rank, "the test has frozen it")
        if rank == 0 and late:
            write(*late[0])
        return write(target, rank, table)

    monkeypatch.setattr(answers, "write_part", writing)
    found = ps.pagerank(graph, hosts=FragileHosts(3, 10_000, fewer=1), out=tmp_path / "ranks")
    assert len(found.stats["losses"]) == 1
    np.testing.assert_array_equal(found.values, ps.pagerank(graph).values)
    assert _files(tmp_path / "ranks") == ["part-00000.parquet", "part-00001.parquet", "result.json"]


def test_a_part_that_was_not_fetched_is_forgotten() -> None:
    begins, ends = np.array([0]), np.array([8])
    part = part_fetching.Part("x", begins, ends, {"x": np.zeros(8)}, ())
    keep_large("old", 2, part, piece_bytes=1)
    part_fetching.forget_parts(0, "new")
    assert ("old", 2) not in part_fetching._KEPT
