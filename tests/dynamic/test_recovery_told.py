"""What opening a graph tells the logger."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys

import pytest

import penstock as ps


@pytest.fixture
def told(caplog):
    """What was logged since the last call: levels and texts."""
    caplog.set_level(logging.INFO, "penstock")

    def take():
        found = [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "penstock"]
        caplog.clear()
        return found

    return take


@pytest.fixture
def crashed(tmp_path):
    """A graph whose process ended without closing it."""
    path = tmp_path / "g"
    code = (
        "import os, sys\nimport penstock as ps\nd = ps.DynamicGraph(sys.argv[1])\n"
        "d.add_edges([1], [2])\nd.add_edges([2], [3])\nos._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    return path


def test_a_graph_that_was_closed_says_nothing(tmp_path, told):
    for _ in range(2):
        with ps.DynamicGraph(tmp_path / "g") as graph:
            graph.add_edges([1], [2])
    ps.DynamicGraph(tmp_path / "g", read_only=True).close()
    assert told() == []


def test_after_a_crash(crashed, told):
    with ps.DynamicGraph(crashed) as graph:
        assert told() == [
            ("INFO", f"{crashed}/log.0: was not closed by its last writer; replayed 2 batches")
        ]
        assert graph.internals.recovery.records == 2
    ps.DynamicGraph(crashed).close()
    assert told() == []


def test_a_torn_tail_is_a_warning(crashed, told):
    """Said by readers, who leave it there, and by the writer, who drops it; then never again."""
    log = crashed / "log.0"
    size = log.stat().st_size
    with log.open("ab") as file:
        file.write(b"\1" * 1500)
    begin = f"{log}: was not closed"
    end = f"1,500 bytes from byte {size:,} on, which are no whole batch"
    ps.DynamicGraph(crashed, read_only=True).close()
    [(level, text)] = told()
    assert level == "WARNING"
    middle = ": its writer died, or has it open; replayed 2 batches; passed over "
    assert text == begin + middle + end
    with ps.DynamicGraph(crashed) as graph:
        [(level, text)] = told()
        assert level == "WARNING"
        assert text == f"{begin} by its last writer; replayed 2 batches; dropped {end}"
        assert graph.internals.recovery.dropped_bytes == 1500
    ps.DynamicGraph(crashed).close()
    assert told() == []


def test_a_reader_beside_a_writer(tmp_path, told):
    """It says so when it opens the graph, not each time it looks again."""
    with ps.DynamicGraph(tmp_path / "g") as graph:
        graph.add_edges([1], [2])
        with ps.DynamicGraph(tmp_path / "g", read_only=True) as reader:
            [(level, text)] = told()
            assert level == "INFO"
            assert text.endswith("its writer died, or has it open; replayed 1 batch")
            graph.add_edges([2], [3])
            reader.refresh()
            graph.compact()
            reader.refresh()
            assert reader.num_edges == 2
            assert told() == []


def test_a_warning_is_seen_without_any_setting(crashed):
    with (crashed / "log.0").open("ab") as file:
        file.write(b"\1" * 100)
    code = "import sys\nimport penstock as ps\nps.DynamicGraph(sys.argv[1]).close()\n"
    torn = crashed.with_name("torn")
    shutil.copytree(crashed, torn)
    done = subprocess.run(
        [sys.executable, "-c", code, str(torn)], capture_output=True, text=True, check=True
    )
    assert "dropped 100 bytes" in done.stderr
    assert done.stderr.count("\n") == 1


def test_answers_are_not_kept_in_the_directory(tmp_path):
    with ps.DynamicGraph(tmp_path / "g", directed=False) as graph:
        graph.add_edges([1, 2], [2, 3])
        graph.maintain("color")
    with ps.DynamicGraph(tmp_path / "g") as again:
        assert list(again.maintained) == []
        assert again.maintain("color").values.tolist() == [0, 1, 0]
