"""The small interfaces between layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from penstock.types import U64, EdgeChunk, IdKind, Names

OnBadLine = Literal["error", "skip"]
#: Takes how far the work has come since the last call.
Advance = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user said about an input. None (or "auto") means: find out."""

    #: Which importer, by name; None goes by suffix and content.
    format: str | None = None
    #: Column separator of text: one character, or None for runs of white space, or "auto".
    separator: str | None = "auto"
    #: A line that begins with one of these characters is a comment.
    comment: str = "#%"
    #: Whether the first line that is no comment names the columns.
    header: bool | None = None
    #: Lines to pass over at the beginning of each file.
    skip_lines: int = 0
    #: Whether ids are numbers or strings.
    ids: IdKind | None = None
    #: True: the format's usual column (in text the third). A string or number: that column.
    #: False: none. None: the format's own habit.
    weights: bool | str | int | None = None
    #: Further columns to keep with the edges, by name or number.
    attributes: tuple[str | int, ...] = ()
    #: Source and target columns, by name or number. None: those with usual names, else the first
    #: two.
    source: str | int | None = None
    target: str | int | None = None
    #: Whether edges are to have a direction; None: as the input says. Of objects whose edges have
    #: none, both directions are read if they are to have one.
    directed: bool | None = None
    on_bad_line: OnBadLine = "error"
    #: How many lines may be skipped: a number, or a percentage such as "5%". None: the usual limit.
    max_bad_lines: int | str | None = None
    threads: int = 1
    #: Bytes of text a reader may hold in one block; a reader holds about threads + 2 blocks.
    block_bytes: int = 8 << 20
    #: Rows a chunk may have.
    chunk_rows: int = 1 << 20


@dataclass(slots=True)
class BadLines:
    """The lines (or rows of a table) that were skipped because ``on_bad_line="skip"``."""

    count: int = 0
    #: The first few, each as the message it would have raised.
    examples: list[str] = field(default_factory=list)
    #: Lines that are comments.
    comments: int = 0

    def clear(self) -> None:
        """Start to count again."""
        self.count = self.comments = 0
        self.examples.clear()


@dataclass(frozen=True, slots=True)
class Source:
    """An input, opened: a way to get its rows, and what is known about them beforehand.

    ``chunks(advance)`` starts at the beginning each time it is called and calls
    ``advance(amount)`` as it goes, in units of ``size``.
    """

    chunks: Callable[[Advance], Iterator[EdgeChunk]]
    #: How much there is to read, and in what ("bytes" or "edges"); for progress bars.
    size: float | None
    unit: str
    id_kind: IdKind
    #: Edge columns by name. None as dtype: numbers read as float64, to be stored in the narrowest
    #: type that holds every one of them exactly (int32, float32, float64).
    columns: dict[str, np.dtype[Any] | None] = field(default_factory=dict)
    #: The name of the column that is the weight.
    weight: str | None = None
    #: The exact set of vertex ids if the input declares it (then isolated vertices exist too).
    declared: range | None = None
    #: Vertices to have even if no edge names them; yields id arrays.
    vertices: Callable[[], Iterator[U64 | Names]] | None = None
    #: What the input says about itself; None if it says nothing.
    directed: bool | None = None
    #: True if reading twice is as good as keeping a copy (generators, arrays in memory).
    cheap_to_repeat: bool = False
    #: What was skipped; grows while chunks are read.
    bad_lines: BadLines = field(default_factory=BadLines)
    #: What to call it in messages.
    name: str = "input"
    #: What was found out about it that the user should know.
    notes: tuple[str, ...] = ()
    #: Whether it was read from files: then it is a mistake if there are no edges.
    is_file: bool = False


class Importer(Protocol):
    """A file of ``ingest/formats/``: a module with these names is an importer."""

    #: What ``format=`` calls it.
    NAME: str
    #: File suffixes, lower case, with the dot, compression suffix taken off.
    SUFFIXES: tuple[str, ...]

    def accepts(self, data: object) -> bool:
        """Whether this is an object in memory that the importer reads."""

    def open_source(self, data: Any, options: ReadOptions) -> Source:
        """Open a list of paths (if there are suffixes) or an accepted object."""
