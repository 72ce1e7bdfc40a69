"""What belongs to a graph is removed with it, and nothing else: neither what a stranger's graph
names, nor what a copy shares, nor what a user put beside the graph's files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from store_making import problems, random_lists, write_store

import penstock as ps
from penstock.errors import FormatError, TargetExistsError
from penstock.interfaces.cli._bars import watching
from penstock.store.folder import GraphFolder
from penstock.store.paged import open_graph


@pytest.fixture
def places(tmp_path):
    """A directory for graphs, and one for stripes."""
    (tmp_path / "here").mkdir()
    (tmp_path / "disk").mkdir()
    return tmp_path / "here" / "g", tmp_path / "disk"


def write(folder: Path, seed: int = 1, **options) -> None:
    write_store(folder, random_lists(30 + seed, 9, seed), **options)


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def make_victim(folder: Path) -> Path:
    """A folder of the user's."""
    folder.mkdir(parents=True)
    for name in ("thesis.txt", "out.pages", "stripe.json"):
        (folder / name).write_text("mine")
    return folder


def whole(victim: Path) -> bool:
    return names(victim) >= {"thesis.txt", "out.pages", "stripe.json"}


# What a stranger's links name


def test_a_link_of_a_replaced_graph_leads_to_no_removal(places):
    target, disk = places
    victim = make_victim(disk / "penstock-0123abcd")
    write(target)
    (target / "stripe.1").symlink_to(victim)
    with pytest.warns(UserWarning, match="penstock-0123abcd: is left in place"):
        write(target, 2, overwrite=True)
    assert whole(victim)
    (target / "elsewhere").symlink_to(victim)
    with pytest.raises(TargetExistsError, match=r"holds files that are not the graph's.*elsewhere"):
        write(target, 3, overwrite=True)
    assert whole(victim)
    assert problems(target) == []


@pytest.mark.parametrize("link", ["elsewhere", "stripe.1"])
@pytest.mark.parametrize("kind", [".g.building", ".g.old"])
def test_a_planted_folder_leads_to_no_removal(places, link, kind):
    """Its author knows where the folder is, but not the token of the graph that it belongs to."""
    target, disk = places
    write(disk.parent / "here" / "mine", stripes=(disk,))
    far = (disk.parent / "here" / "mine" / "stripe.1").readlink()
    for victim in (far, make_victim(disk / "penstock-01234567"), make_victim(disk / "tmp")):
        planted = target.parent / kind
        if kind == ".g.old":
            write(target, overwrite=True)
            shutil.copytree(target, planted)
        else:
            planted.mkdir()
        (planted / link).symlink_to(victim)
        (planted / "stripes.token").write_text("0" * 32 + "\n")
        before = names(victim)
        if (kind, link) == (".g.old", "elsewhere"):  # a complete graph has no link of this name
            with pytest.raises(TargetExistsError, match="'elsewhere'"):
                write(target, 2, overwrite=True)
            shutil.rmtree(planted)
        else:
            with pytest.warns(UserWarning, match="left in place"):
                write(target, 2, overwrite=True)
        assert names(victim) == before
    assert problems(disk.parent / "here" / "mine") == []


def test_an_empty_folder_of_another_is_not_removed(places):
    target, disk = places
    other = disk / "x.stripe.1.0123abcd"
    other.mkdir()
    write(target)
    (target / "stripe.1").symlink_to(other)
    with pytest.warns(UserWarning, match="nothing proves"):
        write(target, 2, overwrite=True)
    assert other.is_dir()


def test_a_link_to_a_building_folder_is_not_followed(places):
    target, disk = places
    victim = make_victim(disk / "victim")
    (victim / "elsewhere").symlink_to(make_victim(disk / "penstock-0123abcd"))
    (target.parent / ".g.building").symlink_to(victim)
    with pytest.raises(ValueError, match=r"\.g\.building: cannot be made: File exists"):
        write(target)
    assert whole(victim)
    assert whole(disk / "penstock-0123abcd")


def test_a_lock_that_is_a_link_is_not_written_to(places):
    target, disk = places
    (disk / "diary").write_text("mine")
    (target.parent / ".g.lock").symlink_to(disk / "diary")
    with pytest.raises(FormatError, match=r"\.g\.lock: is a symbolic link"):
        write(target)
    assert (disk / "diary").read_text() == "mine"


def test_files_of_others_in_a_stripe_elsewhere_stay(places):
    target, disk = places
    write(target, stripes=(disk,))
    far = (target / "stripe.1").readlink()
    (far / "notes").write_text("mine")
    with pytest.warns(UserWarning, match="it holds 'notes', which Penstock did not write"):
        write(target, 2, overwrite=True)
    assert names(far) == {"notes", "owner.json"}


def test_temporary_files_elsewhere_go_and_others_stay(places):
    target, disk = places
    folder = GraphFolder(target, overwrite=False).__enter__()
    scratch = folder.scratch_in(disk)
    (scratch / "deep").mkdir()
    (scratch / "deep" / "rows").write_text("x")
    (scratch.parent / "notes").write_text("mine")
    assert scratch.parent.stat().st_mode & 0o777 == 0o700
    with pytest.warns(UserWarning, match="temporary files are left in place: it holds 'notes'"):
        folder.__exit__(None, None, None)
    assert names(scratch.parent) == {"notes", "owner.json"}


# Copies and moves


def test_a_copy_in_the_old_place_does_not_take_the_stripes(places):
    target, disk = places
    write(target, stripes=(disk,))
    moved = target.rename(target.parent / "moved")
    shutil.copytree(moved, target, symlinks=True)
    with pytest.warns(UserWarning, match="is left in place, though .*g no longer uses it"):
        write(target, 2, overwrite=True)
    assert problems(moved) == []
    # The one that they belong to still takes them along.
    write(moved, 3, overwrite=True)
    assert names(disk) == set()


def test_a_note_says_what_is_left(places, capsys):
    """It is no warning where notes are shown."""
    target, disk = places
    ps.generate("uniform", target, scale=4, stripes=[disk])
    copy = Path(shutil.copytree(target, target.parent / "copy", symlinks=True))
    with watching() as progress:
        ps.generate("uniform", copy, scale=4, overwrite=True, progress=progress)
    far = (target / "stripe.1").readlink()
    assert f"penstock: {far}: is left in place" in capsys.readouterr().err


def test_a_copy_with_the_same_inode_is_still_a_copy(places):
    """File systems give inodes of removed files to new ones."""
    target, disk = places
    write(target, stripes=(disk,))
    token = target / "stripes.token"
    aside = target.parent / "aside"
    shutil.copytree(target, aside, symlinks=True)
    # The same file with the same number, written again: only its time of change is another.
    text, before = token.read_text(), token.stat()
    token.write_text(text)
    os.utime(token, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert token.stat().st_ino == before.st_ino
    with pytest.warns(UserWarning, match="is left in place"):
        write(target, 2, overwrite=True)
    assert problems(aside) == []


def test_stripes_of_earlier_versions_open_and_stay(places):
    """They had a link to the graph instead of a proof."""
    target, disk = places
    write(target, stripes=(disk,))
    far = (target / "stripe.1").readlink()
    (target / "stripes.token").unlink()
    (far / "owner.json").unlink()
    (far / "graph").symlink_to(target)
    assert problems(target) == []
    with pytest.warns(UserWarning, match="nothing proves"):
        write(target, 2, overwrite=True)
    assert names(far) == {"graph", "in.pages", "out.pages", "stripe.json"}


def test_a_copy_without_links_ends_and_is_a_graph(places):
    target, disk = places
    write(target, stripes=(disk,))
    copy = target.parent / "copy"
    subprocess.run(["cp", "-rL", target, copy], check=True, timeout=60)
    assert not (copy / "stripe.1").is_symlink()
    assert problems(copy) == []
    write(copy, 2, overwrite=True)
    assert problems(copy) == problems(target) == []


# What users put inside


@pytest.mark.parametrize("where", [".", "stripe.0"])
def test_files_of_others_inside_are_not_overwritten(places, where):
    target, _ = places
    write(target)
    for k in range(5):
        (target / where / f"notes{k}").write_text("mine")
    with pytest.raises(TargetExistsError, match=r"not the graph's .*notes0.*notes2' and 2 more"):
        write(target, 2, overwrite=True)
    assert names(target.parent) == {"g"}
    assert (target / where / "notes4").read_text() == "mine"
    assert open_graph(target).num_vertices == 31


def test_files_that_come_during_the_build_are_not_overwritten(places):
    target, _ = places
    write(target)
    catalog = open_graph(target).catalog
    with GraphFolder(target, overwrite=True) as folder:
        folder.page_sink("out")
        (target / "notes").write_text("mine")
        with pytest.raises(TargetExistsError, match="notes"):
            folder.commit(catalog)
    assert names(target.parent) == {"g"}
    assert (target / "notes").read_text() == "mine"


def test_a_folder_with_a_catalog_alone_is_not_a_graph(places):
    target, disk = places
    write(disk / "whole")
    target.mkdir()
    shutil.copy(disk / "whole" / "graph.json", target)
    for name in ("thesis.txt", "more.txt"):
        with pytest.raises(TargetExistsError, match=r"is not a graph .it holds .*'graph.json'"):
            write(target, overwrite=True)
        (target / name).write_text("mine")
    assert names(target) == {"graph.json", "thesis.txt", "more.txt"}
