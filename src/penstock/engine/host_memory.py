"""The bytes that the values of a vertex program take on one of several hosts. Pure functions of
counts and needs; docs/design/0025-several-hosts.md has the formula.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.engine.counts import Counts
from penstock.engine.grid import Grid
from penstock.engine.needs import Needs
from penstock.store.layout import PAGE_TABLE_DTYPE

#: The most chunks that the values of a host are sent in.
MOST_CHUNKS = 64
#: What a rank has for each page: the page table, its owner, and the place of its vertices.
PAGE_BYTES = PAGE_TABLE_DTYPE.itemsize + 8 + 3 * 8
#: For each page of a rank in a row: lists in memory are in an object for each page.
PIECE_BYTES = 1 << 10
#: Bytes for each value of a chunk while it is sent or written: its vertex, its place, its bit.
CHUNK_VALUE_BYTES = 4 + 8 + 1


@dataclass(frozen=True, slots=True)
class HostBytes:
    """What one host holds for the values of a run."""

    #: Columns that are gathered, whole; other columns and new values of own vertices.
    columns: int
    #: Flags by vertex number, a byte each.
    flags: int
    #: Which values each host needs: a byte a vertex in the first pass, then a bit for each value
    #: that may be received or sent.
    bitmaps: int
    #: Values that wait: those that have arrived, until the old ones are no longer needed, and those
    #: that are sent, until the network has taken them.
    exchange: int
    #: The result, once as arrays and once as it is sent; the exchange is over by then.
    result: int
    #: Page tables.
    pages: int

    @property
    def total(self) -> int:
        """The most that is held at once."""
        waiting = max(self.bitmaps + self.exchange, self.result)
        return self.columns + self.flags + waiting + self.pages


def host_bytes(counts: Counts, needs: Needs, ranks: int) -> HostBytes:
    """What the rank with the most holds."""
    assert needs.program is not None
    assert counts.own_vertices is not None
    if counts.grid is not None:
        return _grid_bytes(counts, counts.grid, needs, ranks)
    signature, n, own = needs.program.signature, counts.num_vertices, counts.own_vertices
    program = signature.program
    widths = {name: signature.dtypes[name].itemsize for name in _fields(needs)}
    full = {*signature.gathered, *signature.of_dst}
    state = sum(dtype.itemsize for dtype in program.state_dtypes.values())
    told = sum(dtype.itemsize for name, dtype in program.state_dtypes.items() if name in full)
    columns = sum(width * (n if name in full else own) for name, width in widths.items())
    flag = 0 if program.activate is None else 1
    # Fixed fields that are made before the run begins are there for all vertices first.
    columns += (needs.program.always_bytes - flag) * n
    chunk = -(-own // MOST_CHUNKS) * (CHUNK_VALUE_BYTES + told)
    return HostBytes(
        columns + state * own,
        2 * flag * n,
        n + 2 * (n // 8 + ranks),
        told * ((n - own) + (ranks - 1) * own) + chunk,
        own * (4 + 2 * state),
        _num_pages(counts, needs, ranks) * PAGE_BYTES,
    )


def _grid_bytes(counts: Counts, grid: Grid, needs: Needs, ranks: int) -> HostBytes:
    """The same over rows of hosts: gathered columns are there for the range of a row, and what else
    gathering reads, for the vertices of a rank's pages.
    """
    assert needs.program is not None
    assert counts.own_vertices is not None
    signature, n, own = needs.program.signature, counts.num_vertices, counts.own_vertices
    program, column = signature.program, counts.column_vertices if signature.of_dst else 0
    widths = {name: signature.dtypes[name].itemsize for name in _fields(needs)}
    state = program.state_dtypes
    seen = {*signature.gathered, *signature.of_dst}
    state_bytes = sum(dtype.itemsize for dtype in state.values())
    told = sum(dtype.itemsize for name, dtype in state.items() if name in seen)
    columns = (sum(widths.values()) + state_bytes) * own
    columns += sum(widths[name] for name in signature.gathered) * grid.length
    columns += sum(widths[name] for name in signature.of_dst) * column
    flag = 0 if program.activate is None else 1
    columns += (needs.program.always_bytes - flag) * n
    # Accumulators in work, arriving, leaving, and being applied.
    columns += 4 * needs.program.sum_bytes * counts.group_vertices
    # An own value goes to one row, and to others at the same place.
    others = grid.places + (grid.rows if column else 0)
    chunk = -(-own // MOST_CHUNKS) * (CHUNK_VALUE_BYTES + told)
    return HostBytes(
        columns,
        flag * n,
        grid.length + (n + ranks * own) // 8 + ranks + own,
        told * (grid.length + column + others * own) + chunk,
        own * (4 + 2 * state_bytes),
        _num_pages(counts, needs, ranks) * PAGE_BYTES
        + _num_pages(counts, needs, grid.places) // grid.places * PIECE_BYTES,
    )


def _fields(needs: Needs) -> list[str]:
    """Every field that there is an array of."""
    assert needs.program is not None
    signature = needs.program.signature
    program = signature.program
    return [*program.state_dtypes, *program.fixed_dtypes, *signature.vertex_fields]


def _num_pages(counts: Counts, needs: Needs, ranks: int) -> int:
    """All pages, or a few more: the shares of all ranks are counted as equal."""
    stored = counts.all_stored(needs.directions)
    return sum(ranks * counts.lists[each].num_pages for each in stored)
