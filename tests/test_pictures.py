"""Pictures: valid files from rows, and clear errors."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import pytest

from penstock.drawing import style as drawing
from penstock.drawing.timeline import merged
from penstock.errors import InputError, InputNotFoundError, OptionError
from penstock.interfaces import pictures
from penstock.interfaces.bench.gstream import SUITE
from penstock.trace import read_trace

BOTH = ("BFS", "PageRank")
ROWS = {
    "pages": [
        {"algorithm": name, "step": step, "pages_copied": count, "pages": 9}
        for name in BOTH
        for step, count in enumerate((1, 9, 3))
    ],
    "storage": [
        {"algorithm": name, "storage": place, "strategy": strategy, "seconds": 0.5,
         "limit_seconds": None if place == "memory" else 0.2}
        for name in BOTH
        for place in ("memory", "1 stripe")
        for strategy in ("pull", "push")
    ],
    "streams": [
        {"algorithm": name, "streams": count, "seconds": 1 / count}
        for name in BOTH
        for count in (1, 2, 4)
    ],
    "cache": [
        {"algorithm": name, "policy": policy, "order": order, "cache_share": share,
         "seconds": 1 - share / 2 if order == "cached first" else None, "hit_rate": share}
        for name in BOTH
        for policy, order in [
            *((each, "cached first") for each in pictures.POLICIES), ("lru", "by number"),
        ]
        for share in (0.0, 0.5, 1.0)
    ],
    "buffer": [
        {"algorithm": name, "buffer": kind, "seconds": 2.0, "bytes_read": 10**6}
        for name in BOTH
        for kind in ("all", "20%", "none")
    ],
    "modes": [
        {"program": name, "strategy": mode, "chosen": "pull" if mode == "auto" else mode,
         "step": step, "seconds": 0.01, "active_share": 0.5}
        for name in ("SSSP", "CC")
        for mode in ("pull", "notify-pull", "auto")
        for step in range(3)
    ],
}  # fmt: skip

TRACE = """{"traceEvents": [
 {"name": "thread_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "stream 0"}},
 {"name": "read", "ph": "X", "pid": 1, "tid": 0, "ts": 100, "dur": 50, "args": {"page": 0}},
 {"name": "copy", "ph": "X", "pid": 1, "tid": 0, "ts": 150, "dur": 20, "args": {"page": 0}},
 {"name": "kernel", "ph": "X", "pid": 1, "tid": 1, "ts": 170, "dur": 30, "args": {"page": 1}}
]}"""


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(TRACE)
    return path


def colors_in(path):
    """The colours that an SVG file fills or strokes with."""
    text = path.read_text()
    return {color for color in vars(drawing).values() if isinstance(color, str) and color in text}


@pytest.mark.parametrize("name", list(ROWS))
def test_picture_is_drawn(name, tmp_path):
    path = tmp_path / "picture.svg"
    SUITE.experiments[name].pictures[name](ROWS[name], path)
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert len(colors_in(path)) >= 2


def test_every_experiment_has_a_picture():
    for name, experiment in SUITE.experiments.items():
        assert list(experiment.pictures) == [name]
    assert set(ROWS) | {"timeline"} == set(SUITE.experiments)


@pytest.mark.parametrize("suffix", drawing.SUFFIXES)
def test_same_rows_same_bytes(suffix, tmp_path):
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        pictures.draw_pages(ROWS["pages"], path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize(
    ("name", "begin"), [("t.png", b"\x89PNG\r\n"), ("t.svg", b"<?xml"), ("t.pdf", b"%PDF")]
)
def test_timeline_of_a_trace(trace, tmp_path, name, begin):
    pictures.timeline(trace, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begin)


def test_trace_is_read(trace):
    assert read_trace(trace) == [
        (0, "read", 0.1, 0.05, None),
        (0, "copy", 0.15, 0.02, None),
        (1, "kernel", 0.17, 0.03, None),
    ]


def test_trace_of_a_run_without_pages(tmp_path):
    path = tmp_path / "empty.json"
    path.write_text('{"traceEvents": []}')
    pictures.timeline(path, tmp_path / "t.png")
    assert (tmp_path / "t.png").stat().st_size > 0


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"events": []}', '{"traceEvents": [{"ph": "X"}]}'])
def test_what_is_not_a_trace(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"other\.json: is not a trace"):
        pictures.timeline(path, tmp_path / "t.png")


def test_trace_that_is_not_there(tmp_path):
    with pytest.raises(InputNotFoundError, match=r"none\.json"):
        pictures.timeline(tmp_path / "none.json", tmp_path / "t.png")


def test_other_suffixes_are_refused(trace, tmp_path):
    with pytest.raises(OptionError, match=r"t\.docx: expected .* \.png, \.svg or \.pdf"):
        pictures.timeline(trace, tmp_path / "t.docx")


def test_place_that_is_not_there(trace, tmp_path):
    with pytest.raises(InputNotFoundError, match="no such directory to put"):
        pictures.timeline(trace, tmp_path / "none" / "t.png")


def test_without_matplotlib(trace, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r"pip install 'penstock\[plot\]'"):
        pictures.timeline(trace, tmp_path / "t.png")


def test_drawing_imports_it_only_then():
    import subprocess

    code = (
        "import sys, penstock.interfaces.pictures, penstock.interfaces.bench.gstream; "
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_merged_joins_what_cannot_be_told_apart():
    assert merged([(5, 1), (0, 2), (1, 0.5), (2.05, 1)], 0.1) == [
        (0, pytest.approx(3.05)),
        (5, 1),
    ]
    assert merged([], 1) == []
