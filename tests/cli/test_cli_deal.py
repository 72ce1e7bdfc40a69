"""``penstock deal``, and what ``info``, ``verify`` and ``run`` say of a part."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.store.part import read_part


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "g.penstock"
    src = list(range(60_000))
    ps.build((src, [(7 * k) % 60_000 for k in src]), path, page_size="64KiB", directed=True)
    return path


@pytest.fixture(scope="module")
def parts(graph: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    from penstock.distributed.dealing import deal

    folders = [tmp_path_factory.mktemp(name) for name in ("h1", "h2", "h3")]
    deal(ps.open(graph), folders, copies=2, num_stripes=9)
    return [folder / "g.penstock" for folder in folders]


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_deal_shows_what_went_where(cli: Any, graph: Path, tmp_path: Path) -> None:
    targets = [tmp_path / "a", tmp_path / "b"]
    for each in targets:
        each.mkdir()
    words = ["deal", graph, "--to", targets[0], "--to", targets[1], "--stripes", 4]
    data = cli(*words, "--json").data
    assert [place["stripes"] for place in data["places"]] == [[0, 2], [1, 3]]
    assert (data["stripes"], data["copies"], data["bytes_kept"]) == (4, 1, 0)
    shown = cli(*words)
    assert shown.code == 0
    assert f"{targets[0]}/g.penstock: 2 stripes (0, 2)" in shown.out
    assert "0 bytes were sent" in shown.out or "0 B were sent" in shown.out
    assert "were there already" in shown.out


def test_deal_is_refused(cli: Any, graph: Path, tmp_path: Path) -> None:
    assert "give at least two" in cli("deal", graph, "--to", tmp_path).error
    assert cli("deal", graph).code == 2
    assert "hosts: 'h1' was given" in cli("deal", graph, "--to", tmp_path, "--hosts", "h1").error
    said = cli("deal", graph, "--to", tmp_path, "--tls", tmp_path)
    assert "tls: is for several hosts" in said.error


def test_a_survey_sees_what_a_run_sees(parts: list[Path], tmp_path: Path) -> None:
    from penstock.distributed.survey import seen_stripes

    path = tmp_path / "g.penstock"
    shutil.copytree(parts[0], path)
    own = ps.open(path).part.stripes
    assert seen_stripes(path) == (own, 9)
    (path / f"stripe.{own[0]}" / "stripe.json").unlink()
    (path / f"stripe.{own[1]}" / "in.pages").unlink()
    assert seen_stripes(path) == (own[2:], 9)
    assert seen_stripes(tmp_path) == (None, None)


def test_info_of_a_part(cli: Any, parts: list[Path]) -> None:
    data = cli("info", parts[0], "--json").data
    part = data["part"]
    assert part["of"] == 9
    assert sorted(part["stripes"] + part["elsewhere"]) == list(range(9))
    assert part["missing"] == []
    assert part["place"] == str(parts[0])
    files = sum(file.stat().st_size for file in parts[0].glob("stripe.*/*.pages"))
    assert data["disk"]["pages_bytes"] == files
    text = cli("info", parts[0]).out
    assert f"stripes {', '.join(map(str, part['stripes']))} of 9" in text
    assert f"stripes {', '.join(map(str, part['elsewhere']))}; runs need the hosts" in text
    assert "MISSING" not in text


def test_info_of_a_whole_graph(cli: Any, graph: Path) -> None:
    assert cli("info", graph, "--json").data["part"] is None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (None, None),
        (lambda part, k: shutil.rmtree(part / f"stripe.{k}"), "is missing"),
        (lambda part, k: (part / f"stripe.{k}" / "out.pages").unlink(), "cannot be opened"),
        (lambda part, k: flip(part / f"stripe.{k}" / "out.pages", 5000), "checksum"),
        (lambda part, k: flip(part / "out.degrees.npy", 5000), "checksum"),
        (lambda part, k: flip(part / "part.json", 50), "checksum"),
    ],
    ids=["nothing", "no stripe", "no pages", "a page", "an index", "the list"],
)
def test_verify_a_part(
    cli: Any, parts: list[Path], tmp_path: Path, damage: Any, message: str | None
) -> None:
    path = tmp_path / "g.penstock"
    shutil.copytree(parts[1], path)
    stripe = json.loads((path / "part.json").read_text())["held_by"]
    own = next(k for k, holders in enumerate(stripe) if 1 in holders)
    if damage is not None:
        damage(path, own)
    said = cli("verify", path, "--json")
    data = json.loads(said.out)
    if message is None:
        assert data["ok"]
        assert len(data["notes"]) == 1
        assert "not checked are stripes" in data["notes"][0]
        assert data["pages"] == sum(
            file.stat().st_size // 65536 for file in path.glob("stripe.*/*.pages")
        )
    else:
        assert not data["ok"]
        assert any(message in each["what"] for each in data["problems"]), data["problems"]


def test_info_names_stripes_that_were_lost(cli: Any, parts: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "g.penstock"
    shutil.copytree(parts[0], path)
    found = ps.open(path).part
    shutil.rmtree(path / f"stripe.{found.stripes[1]}")
    assert cli("info", path, "--json").data["part"]["missing"] == [found.stripes[1]]
    text = cli("info", path).out
    assert "MISSING" in text
    assert f"stripes {found.stripes[1]}: deal the graph again" in text


def test_a_part_does_not_run_alone(cli: Any, parts: list[Path]) -> None:
    said = cli("run", "pagerank", parts[2])
    assert said.code == 2
    assert "is a part of a graph: stripes" in said.error
    assert "--hosts" in said.error


def test_a_part_can_be_replaced(graph: Path, parts: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "g.penstock"
    shutil.copytree(parts[1], path)
    whole = ps.build(([0, 1], [1, 2]), path, overwrite=True)
    assert whole.num_edges == 2
    assert read_part(path, whole.catalog) is None
    assert not (path / "part.json").exists()
