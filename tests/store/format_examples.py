"""The pages of the worked examples in docs/format.md, as the code writes them."""

from __future__ import annotations

import numpy as np

from penstock.store.layout import Column, PageSpec, make_layout
from penstock.store.packer import MemorySink, Packer
from penstock.store.page import SMALL, PageHeader
from penstock.types import Adjacency

TAG = 0x1122334455667788
NAN = float("nan")

SLOTTED = PageSpec("slotted", 144, 8, (Column("cost", np.dtype("<f4")),), (), 2, 2)
SLOTTED_FIRST_VIDS = np.array([0, 3, 3, 4], np.uint32)
SLOTTED_LISTS = Adjacency(
    0,
    np.array([1, 1, 1, 7, 0, 0, 0, 0], np.uint32),
    np.array([1, 2, 3, 0, 1, 2, 4, 5, 6, 7], np.uint32),
    {"cost": np.array([2.5] + [NAN] * 9, np.float32)},
)

BANDED = PageSpec("banded", 192, 70000, (Column("weight", np.dtype("<f4")),), (2, 3))
BANDED_LISTS = Adjacency(
    69997,
    np.array([3, 0, 2], np.uint32),
    np.array([1, 2, 66000, 65535, 65536], np.uint32),
    {"weight": np.array([1, 2, 3, 4, 5], np.float32)},
)
BANDED_HEADER = PageHeader(
    layout=2, kind=SMALL, direction=1, tag=TAG, page_id=40, first_vid=69997, first_edge=1000,
    num_vertices=3, num_edges=5,
)  # fmt: skip


def slotted_pages() -> list[np.ndarray]:
    sink = MemorySink()
    layout = make_layout(SLOTTED, SLOTTED_FIRST_VIDS)
    packer = Packer(SLOTTED, layout, "out", TAG, sink, lambda _: None)
    packer.add(SLOTTED_LISTS)
    table, _ = packer.finish()
    assert list(table["first_vid"]) == list(SLOTTED_FIRST_VIDS)
    return sink.pages


def banded_page() -> np.ndarray:
    page = np.zeros(BANDED.page_bytes, np.uint8)
    make_layout(BANDED).encode(page, SMALL, BANDED_LISTS)
    BANDED_HEADER.seal(page)
    return page


EXAMPLES = {
    **{f"slotted page {i}": page for i, page in enumerate(slotted_pages())},
    "banded page 40": banded_page(),
}
