"""The code blocks of a document, and how they are run.

All blocks of a page run in order, in one folder. ``python`` blocks share a namespace; those that
show a session (``>>>``) must print what they show. ``sh`` blocks run line by line, commands of
``penstock`` in this process. Two comments in a page are for the runner:

    <!-- run first: COMMANDS -->   what a reader would have already; lines of a shell
    <!-- not run: REASON -->       on the line above a fence; a test counts them
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.interfaces.cli.main import run as run_command

#: Blocks that show something; other tests may know what.
SHOWN = {"text", "hex", "{toctree}", "{eval-rst}", "{include}"}
_FENCE = re.compile(r"( *)(`{3,})([^`]*)")
_EXCUSE = re.compile(r" *<!-- not run: (.+) -->")
_FIRST = re.compile(r"^<!-- run first: *\n?(.*?)\s*-->", re.DOTALL | re.MULTILINE)
_FOR_A_SHELL = re.compile(r"[|&;<>$*]")


class BlockError(Exception):
    """A block does not do what the page says."""


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    language: str
    text: str
    #: The line of its fence in the page, from 1.
    line: int
    #: Why it is not run.
    excuse: str | None


def blocks(path: Path, *languages: str) -> list[Block]:
    """The blocks of a page, or those in some languages."""
    return [each for each in _blocks(path) if not languages or each.language in languages]


def _blocks(path: Path) -> Iterator[Block]:
    lines = path.read_text().splitlines()
    at = 0
    while at < len(lines):
        fence = _FENCE.fullmatch(lines[at])
        begin, at = at, at + 1
        if fence is None:
            continue
        indent, ticks, info = fence.groups()
        inside = []
        while lines[at].strip() != ticks:
            inside.append(lines[at].removeprefix(indent))
            at += 1
        at += 1
        excuse = _EXCUSE.fullmatch(lines[begin - 1]) if begin else None
        text = "".join(f"{line}\n" for line in inside)
        yield Block(info.partition(" ")[0], text, begin + 1, excuse and excuse[1])


def run_page(path: Path, folder: Path) -> None:
    """Run all blocks of a page in a folder, which is the current one."""
    page = _Page(path.name, folder)
    for commands in _FIRST.findall(path.read_text()):
        page.sh(commands)
    for block in _blocks(path):
        if block.excuse is not None or block.language in SHOWN:
            continue
        try:
            page.run(block)
        except Exception as error:
            error.add_note(f"in the block at {path}:{block.line}")
            raise


@dataclass
class _Page:
    name: str
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})

    def run(self, block: Block) -> None:
        if block.language == "sh":
            self.sh(block.text)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language != "python":
            raise BlockError(f"nobody knows how to run {block.language!r}")
        elif block.text.lstrip().startswith(">>>"):
            self.session(block)
        else:
            # Programs are compiled from their source: it has to be in a file.
            script = self.folder / f"block_{block.line}.py"
            script.write_text(block.text)
            exec(compile(block.text, str(script), "exec"), self.names)

    def session(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(
            block.text, self.names, self.name, self.name, block.line
        )
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        runner.run(test, out=said.append, clear_globs=False)
        self.names |= test.globs
        if runner.failures:
            raise BlockError("".join(said))

    def sh(self, text: str) -> None:
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if not words:
                continue
            if words[0] == "penstock" and not _FOR_A_SHELL.search(re.sub(r"'[^']*'", "", line)):
                code = run_command(words[1:])
            else:
                code = self.shell(line)
            if code:
                raise BlockError(f"exit code {code}: {line}")

    def shell(self, line: str) -> int:
        """A line for a shell that finds this environment's commands first."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        command = ["bash", "-euo", "pipefail", "-c", line]
        return subprocess.run(command, env={**os.environ, "PATH": path}, check=False).returncode
