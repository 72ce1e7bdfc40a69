"""Parts of a graph that was dealt out: what the workers are asked about those on their disks."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path


def remove_part(path: str) -> None:
    """Remove the part, and what is there of an unfinished one."""
    folder = Path(path)
    for each in (folder, folder.parent / f".{folder.name}.dealing"):
        shutil.rmtree(each, ignore_errors=True)


def files_of_part(path: str) -> dict[str, str]:
    """The hash of each file of a part, but for the one that says what was dealt to whom. The part
    must be what its checksums say.
    """
    from penstock.store.check import check_graph

    folder = Path(path)
    report = check_graph(folder)
    if not report.ok:
        return {"damaged": str(report.problems)}
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != "part.json"
    }


def digest_of_parts(parts: Iterable[dict[str, str]], copies: int) -> str:
    """The bits of a graph that lies in parts; what is wrong if not every stripe is there in so many
    copies, all of them the same.
    """
    held: Counter[str] = Counter()
    whole: dict[str, str] = {}
    for part in parts:
        for name, found in part.items():
            if whole.setdefault(name, found) != found:
                return f"copies of {name} differ"
            held[name] += 1
    few = [name for name in whole if "/" in name and held[name] != copies]
    if few:
        return f"there are not {copies} copies of {few}"
    return hashlib.sha256(repr(sorted(whole.items())).encode()).hexdigest()
