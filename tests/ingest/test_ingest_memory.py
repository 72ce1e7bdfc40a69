"""Memory is a promise: what a build holds at most, beyond what a tiny one does, is its budget.

The large stars, which take a minute, are a script: ``python tests/ingest/ingest_peak.py star 19
64000000 /tmp`` prints how far a build of ten million leaves went beyond what was there before.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SLACK = 40_000_000
SCRIPT = Path(__file__).parent / "ingest_peak.py"


def peak_bytes(kind: str, scale: int, memory: int, place: Path) -> int:
    command = [sys.executable, str(SCRIPT), kind, str(scale), str(memory), str(place)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return int(done.stdout)


@pytest.mark.parametrize(
    ("kind", "memory"),
    [
        ("plain", 32_000_000),
        ("plain", 64_000_000),
        ("many ids", 32_000_000),
        ("strings", 32_000_000),
        ("star", 32_000_000),
        ("slotted star", 32_000_000),
        ("in-star", 32_000_000),
        ("one edge", 32_000_000),
    ],
)
def test_peak_memory(tmp_path: Path, kind: str, memory: int) -> None:
    assert peak_bytes(kind, 18, memory, tmp_path) <= memory + SLACK
