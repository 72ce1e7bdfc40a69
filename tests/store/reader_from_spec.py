"""A reader of graph directories written from docs/format.md alone, in plain NumPy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np


def aligned(count):
    return (count + 7) // 8 * 8


def number(data, at, size):
    return int.from_bytes(data[at : at + size].tobytes(), "little")


def numbers(data, width):
    padded = np.zeros((len(data) // width, 8), np.uint8)
    padded[:, :width] = data.reshape(-1, width)
    return padded.view("<i8").ravel()


def read_banded(page, vertices, edges, bands, columns):
    totals = [number(page, 64 + 8 * b, 4) for b in range(len(bands))]
    counts = [[total] for total in totals]
    at = 64 + 8 * len(bands)
    if page[14] == 1:  # a small page
        at += aligned(4 * len(bands) * -(-vertices // 64))
        for b in range(len(bands)):
            width = int(page[68 + 8 * b])
            data = page[at : at + width * vertices]
            counts[b] = numbers(data, width) if width else np.zeros(vertices, np.int64)
            at += aligned(width * vertices)
    owners, vids = [], []
    for b, width in enumerate(bands):
        owners.append(np.repeat(np.arange(vertices), counts[b]))
        vids.append(numbers(page[at : at + width * totals[b]], width))
        at += aligned(width * totals[b])
    values = {}
    for name, dtype in columns:
        values[name] = page[at : at + edges * dtype.itemsize].view(dtype)
        at += aligned(edges * dtype.itemsize)
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")  # the bands of a list follow each other
    return owner[order], np.concatenate(vids)[order], values


def read_slotted(page, vertices, p, q, columns, first_vids):
    owner, vids, rows = [], [], []
    row = np.dtype(columns)
    for slot in range(vertices):
        at = number(page, len(page) - 10 * (slot + 1) + 6, 4)
        owner += [slot] * number(page, at, 4)
        for _ in range(number(page, at, 4)):
            vids.append(int(first_vids[number(page, at + 4, p)]) + number(page, at + 4 + p, q))
            at += p + q
            if columns:
                size = number(page, at + 4, 2)
                data = page[at + 6 : at + 6 + size]
                rows.append(data.view(row)[0] if size else [np.nan] * len(row))
                at += 2 + size
    values = {columns[i][0]: np.array([r[i] for r in rows], row[i]) for i in range(len(columns))}
    return np.array(owner, np.int64), np.array(vids, np.int64), values


def read_edges(folder):
    """Source ids, target ids and columns of all edges; an undirected edge comes once."""
    folder = Path(folder)
    about = json.loads((folder / "graph.json").read_text())
    assert about["magic"] == "penstock graph"
    assert about["format"]["read"] <= 1
    columns = [(c["name"], np.dtype(c["dtype"]).newbyteorder("<")) for c in about["columns"]]
    ids = np.arange(about["num_vertices"]) + about["ids"]["first"]
    if about["ids"]["kind"] == "int":
        ids = np.load(folder / "ids.npy")
    if about["order_file"] is not None:
        ids = ids[np.argsort(np.load(folder / about["order_file"]))]
    direction = "out" if "out" in about["directions"] else "in"
    first_vids = np.load(folder / f"{direction}.pages.npy")["first_vid"]
    parts = [[ids[:0]], [ids[:0]], *([np.empty(0, dtype)] for _, dtype in columns)]
    size, stripes = about["page_bytes"], about["num_stripes"]
    for j in range(len(first_vids)):
        file = folder / f"stripe.{j % stripes}" / f"{direction}.pages"
        page = np.fromfile(file, np.uint8, size, offset=j // stripes * size)
        vertices, edges = number(page, 48, 4), number(page, 52, 4)
        if about["layout"] == "banded":
            found = read_banded(page, vertices, edges, about["bands"], columns)
        else:
            found = read_slotted(page, vertices, about["p"], about["q"], columns, first_vids)
        mine, theirs = found[0] + number(page, 32, 8), found[1]
        once = (mine <= theirs) | about["directed"]
        ends = (mine, theirs) if direction == "out" else (theirs, mine)
        fields = (ids[ends[0]], ids[ends[1]], *(found[2][name] for name, _ in columns))
        for part, values in zip(parts, fields, strict=True):
            part.append(values[once])
    src, dst, *values = (np.concatenate(part) for part in parts)
    return src, dst, dict(zip((name for name, _ in columns), values, strict=True))
