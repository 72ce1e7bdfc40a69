"""Changes to the files of a store with all checksums made right again, as a stranger could make
them. Each changes one file in a copied store; ``reseal`` is called once at the end.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from torture._stores import PAGE_BYTES, N

_HEADER_BYTES = 64
_EXTREMES = (0, 1, 2, 255, 256, 65535, 65536, (1 << 24) - 1, (1 << 31) - 1, 1 << 31)
_LARGEST = (1 << 32) - 1, (1 << 63) - 1, (1 << 64) - 1


def forge(folder: Path, name: str, rng: random.Random) -> None:
    """Change something in a file, and make its own checksums right."""
    last = name.rpartition("/")[2]
    path = folder / name
    change: Callable[[Path, random.Random], None]
    if last in ("graph.json", "live.json", "columns.json"):
        change = _forge_json
    elif last.endswith(".pages"):
        change = _forge_page
    elif last.endswith(".npy"):
        change = _forge_array
    elif last.startswith("log."):
        change = _forge_log
    elif last == "state.checkpoint":
        change = _forge_checkpoint
    else:
        change = _forge_bytes
    change(path, rng)


def reseal(folder: Path) -> None:
    """Make the checksums of catalogs right: of index files first, then of the catalogs."""
    for path in [*folder.rglob("graph.json"), *folder.rglob("live.json")]:
        _reseal_catalog(path)
    for path in folder.rglob("columns.json"):
        _reseal_columns(path)


def number(rng: random.Random, bits: int = 64) -> int:
    """A number that code may not expect."""
    near = rng.choice((N, N - 1, N + 1, N // 2, 3 * N))
    any_number = rng.getrandbits(rng.randint(1, bits))
    chosen = rng.choice((near, any_number, rng.choice(_EXTREMES), rng.choice(_LARGEST)))
    return chosen & ((1 << bits) - 1)


def _forge_bytes(path: Path, rng: random.Random) -> None:
    raw = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 3)):
        if not raw:
            return
        if rng.random() < 0.1:
            del raw[rng.randrange(len(raw)) :]
            continue
        width = rng.choice((1, 2, 4, 8))
        at = rng.randrange(max(len(raw) - width, 1))
        raw[at : at + width] = number(rng, 8 * width).to_bytes(width, "little")
    path.write_bytes(raw)


def _forge_page(path: Path, rng: random.Random) -> None:
    """Numbers in the body of a page, rarely in its header; its checksum is made right."""
    raw = bytearray(path.read_bytes())
    if not raw:
        return
    size = PAGE_BYTES if len(raw) % (1 << 16) else 1 << 16
    begin = rng.randrange(max(len(raw) // size, 1)) * size
    page = raw[begin : begin + size]
    used = max(len(bytes(page).rstrip(b"\0")), _HEADER_BYTES + 8)
    for _ in range(rng.randint(1, 3)):
        low, high = _HEADER_BYTES, used
        place = rng.random()
        if place < 0.1:
            low, high = 8, _HEADER_BYTES
        elif place < 0.5:
            high = min(used, _HEADER_BYTES + 64)
        elif place < 0.6:
            low, high = used - 1, size - 1
        width = rng.choice((1, 1, 2, 2, 3, 4))
        at = min(rng.randrange(low, max(high, low + 1)), size - width)
        if rng.random() < 0.3:
            value = int.from_bytes(page[at : at + width], "little") + rng.choice((-1, 1, 64))
        else:
            value = number(rng, 8 * width)
        page[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    page[:8] = xxhash.xxh3_64_intdigest(bytes(page[8:])).to_bytes(8, "little")
    raw[begin : begin + size] = page
    path.write_bytes(raw)


def _forge_array(path: Path, rng: random.Random) -> None:
    """Entries of an array, its length or its type; or bytes of its file."""
    kind = rng.random()
    if kind < 0.1:
        _forge_bytes(path, rng)
        return
    try:
        array = np.load(path)
    except Exception:  # it has been forged before
        _forge_bytes(path, rng)
        return
    if array.ndim != 1 or not len(array):
        return
    if kind < 0.15:
        array = array[:-1] if rng.random() < 0.5 else np.concatenate([array, array[-1:]])
    elif kind < 0.2 and array.dtype.names is None:
        array = array.astype(rng.choice(["<i8", "<u8", "<f4", "<u2", ">u4"]))
    elif kind < 0.35:
        i, j = rng.randrange(len(array)), rng.randrange(len(array))
        array[[i, j]] = array[[j, i]]
    else:
        for _ in range(rng.randint(1, 3)):
            view = array
            if array.dtype.names is not None:
                view = array[rng.choice(array.dtype.names[:-1])]
            at = rng.randrange(len(view))
            bits = 8 * view.dtype.itemsize
            value = number(rng, bits)
            if rng.random() < 0.3:
                value = (int(view[at]) + rng.choice((-1, 1))) & ((1 << bits) - 1)
            view[at : at + 1].view(f"u{view.dtype.itemsize}")[0] = value
    np.save(path, array)


def _forge_json(path: Path, rng: random.Random) -> None:
    """One value somewhere in a catalog."""
    data = json.loads(path.read_bytes())
    for _ in range(rng.randint(1, 2)):
        holder, key = _pick(data, rng)
        holder[key] = _other(holder[key], rng)
        if isinstance(holder, dict) and rng.random() < 0.05:
            del holder[key]
    path.write_text(json.dumps(data))


def _pick(data: Any, rng: random.Random) -> tuple[Any, Any]:
    """A place in nested JSON."""
    keys = list(data) if isinstance(data, dict) else list(range(len(data)))
    keys = [key for key in keys if key not in ("magic", "format", "checksum", "written_by")]
    key = rng.choice(keys)
    if isinstance(data[key], dict | list) and data[key] and rng.random() < 0.85:
        return _pick(data[key], rng)
    return data, key


def _other(value: Any, rng: random.Random) -> Any:
    if rng.random() < 0.1:
        return rng.choice([None, -1, 1.5, "", "x", [], {}, True, 1 << 70])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, 2 * value, number(rng), number(rng, 8)))
    if isinstance(value, str):
        words = ["out", "in", "degree", "id", "input", "none", "given", "banded", "slotted", "keep"]
        words += ["last", "sum", "range", "int", "string", "float32", "int8", "uint64", "float64"]
        words += ["ids.npy", "vid_of_rank.npy", "out.degrees.npy", "../x", "é", "0" * 16]
        return rng.choice(words)
    return rng.choice([value, None, [], 7])


def _reseal_catalog(path: Path) -> None:
    """Sizes and checksums of files, then the checksum of the text."""
    try:
        data = json.loads(path.read_bytes())
        for name, record in data.get("files", {}).items():
            raw = (path.parent / name).read_bytes()
            record["bytes"], record["xxh3"] = len(raw), xxhash.xxh3_64_hexdigest(raw)
    except (OSError, ValueError, TypeError, AttributeError):
        return  # no longer what a catalog is: it stays as it was forged
    data.pop("checksum", None)
    text = json.dumps(data, indent=1).removesuffix("\n}") + ",\n"
    path.write_text(text + f' "checksum": "{xxhash.xxh3_64_hexdigest(text.encode())}"\n}}\n')


def _reseal_columns(path: Path) -> None:
    try:
        data = json.loads(path.read_bytes())
        size = int(data["block_entries"]) * 4
        for name in data["blocks"]:
            raw = (path.parent / name).read_bytes()[128:]
            blocks = [raw[at : at + size] for at in range(0, len(raw), max(size, 1))][:100]
            data["blocks"][name] = [xxhash.xxh3_64_hexdigest(each) for each in blocks]
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return
    data.pop("checksum", None)
    text = json.dumps(data, sort_keys=True)
    data["checksum"] = xxhash.xxh3_64_hexdigest(text.encode())
    path.write_text(json.dumps(data, indent=1))


def _forge_log(path: Path, rng: random.Random) -> None:
    """Words of a record, its kind, or its bytes; checksums and the chain are made right."""
    raw = path.read_bytes()
    records, at = [], 0
    while at + _HEADER_BYTES <= len(raw):
        size = int.from_bytes(raw[at + 40 : at + 48], "little")
        records.append((bytearray(raw[at : at + _HEADER_BYTES]), bytearray(raw[at + 64 :][:size])))
        at += _HEADER_BYTES + size
    head, payload = rng.choice(records)
    if payload and rng.random() < 0.9:
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.6:
                place = 8 * rng.randrange(min(len(payload) // 8, 14))
                payload[place : place + 8] = number(rng).to_bytes(8, "little")
            else:
                payload[rng.randrange(len(payload))] = rng.randrange(256)
        if rng.random() < 0.1:
            del payload[8 * rng.randrange(len(payload) // 8) :]
    else:
        head[13] = rng.choice((0, 1, 2, 3, 254, 255))
    previous, out = 0, bytearray()
    for header, body in records:
        header[40:48] = len(body).to_bytes(8, "little")
        header[48:56] = xxhash.xxh3_64_intdigest(bytes(body)).to_bytes(8, "little")
        header[56:64] = previous.to_bytes(8, "little")
        previous = xxhash.xxh3_64_intdigest(bytes(header[8:]))
        header[:8] = previous.to_bytes(8, "little")
        out += header + body
    path.write_bytes(out)


_TAIL = struct.Struct("<4sIQQQ")


def _forge_checkpoint(path: Path, rng: random.Random) -> None:
    """Entries of an array, or a value in the description; checksums are made right."""
    raw = path.read_bytes()
    magic, version, length, _, _ = _TAIL.unpack(raw[-_TAIL.size :])
    text = raw[-_TAIL.size - length : -_TAIL.size]
    arrays = bytearray(raw[: -_TAIL.size - length])
    data = json.loads(text)
    if rng.random() < 0.3:
        holder, key = _pick(data["extra"], rng) if data["extra"] else (data, "step")
        holder[key] = _other(holder[key], rng)
    else:
        for _ in range(rng.randint(1, 4)):
            entry = rng.choice(data["arrays"])
            place = sum(
                each["length"] * np.dtype(each["dtype"]).itemsize
                for each in data["arrays"][: data["arrays"].index(entry)]
            )
            width = np.dtype(entry["dtype"]).itemsize
            if entry["length"]:
                place += width * rng.randrange(entry["length"])
                arrays[place : place + width] = number(rng, 8 * width).to_bytes(width, "little")
    at = 0
    for entry in data["arrays"]:
        size = entry["length"] * np.dtype(entry["dtype"]).itemsize
        entry["xxh3"] = xxhash.xxh3_64_hexdigest(bytes(arrays[at : at + size]))
        at += size
    text = json.dumps(data).encode()
    tail = _TAIL.pack(magic, version, len(text), xxhash.xxh3_64_intdigest(text), 0)[:-8]
    seal = xxhash.xxh3_64_intdigest(tail).to_bytes(8, "little")
    path.write_bytes(bytes(arrays) + text + tail + seal)
