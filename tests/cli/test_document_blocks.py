"""The runner of documents: what runs, what fails, what is left out."""

from __future__ import annotations

import pytest
from document_blocks import BlockError, blocks, run_page


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Writes a page and runs it, in a folder of its own."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(text):
        path = tmp_path / "page.md"
        path.write_text(text)
        run_page(path, folder)
        return path

    return run


def test_blocks_run_in_order_in_one_folder_and_namespace(page, tmp_path):
    page(
        "<!-- run first:\nprintf 1 > begun.txt\n-->\n"
        "```python\nfrom pathlib import Path\nbefore = Path('begun.txt').read_text()\n```\n"
        "```sh\ncp begun.txt copy.txt  # a comment\n\ncat copy.txt copy.txt > twice.txt\n```\n"
        "```python\nPath('end.txt').write_text(before + Path('twice.txt').read_text())\n```\n"
    )
    assert (tmp_path / "folder/end.txt").read_text() == "111"


def test_a_session_prints_what_it_shows(page):
    page("```python\n>>> x = 3\n>>> x\n3\n```\n```python\nassert x == 3\n```\n")
    with pytest.raises(BlockError, match=r"Expected:\s+4\s+Got:\s+3"):
        page("```python\n>>> 1 + 2\n4\n```\n")


@pytest.mark.parametrize("line", ["penstock info nowhere.penstock", "false", "penstock info | cat"])
def test_a_command_that_fails_is_an_error(page, line):
    with pytest.raises(BlockError, match="exit code") as caught:
        page(f"Text.\n\n```sh\n{line}\n```\n")
    assert caught.value.__notes__[0].endswith("page.md:3")


def test_an_error_of_python_tells_the_line(page):
    with pytest.raises(ZeroDivisionError) as caught:
        page("```python\n1 / 0\n```\n")
    assert caught.value.__notes__[0].endswith("page.md:1")


@pytest.mark.parametrize("block", ["```ruby\nputs 1\n```\n", "```\nwhat\n```\n"])
def test_a_language_that_nobody_runs_is_an_error(page, block):
    with pytest.raises(BlockError, match="nobody knows"):
        page(block)


def test_json_is_json(page):
    page('```json\n{"a": 1}\n```\n')
    with pytest.raises(ValueError, match="Expecting"):
        page("```json\n{a: 1}\n```\n")


def test_an_excuse_stands_right_above_the_fence(page):
    path = page("<!-- not run: it would fail -->\n```python\n1 / 0\n```\n")
    assert [block.excuse for block in blocks(path)] == ["it would fail"]
    with pytest.raises(ZeroDivisionError):
        page("<!-- not run: too far away -->\n\n```python\n1 / 0\n```\n")


def test_blocks_in_lists_are_found(page):
    path = page("- an item\n\n  ```python\n  if True:\n      x = 1\n  ```\n")
    assert [block.text for block in blocks(path, "python")] == ["if True:\n    x = 1\n"]
