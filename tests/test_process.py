"""What changes the whole process."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from penstock import process


def test_freed_memory_that_is_always_retained(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []

    def mallopt(option: int, value: int) -> None:
        told.append((option, value))

    monkeypatch.setattr(process, "_always", 0)
    monkeypatch.setattr(process.ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=mallopt))
    process.retain_freed_memory(8 << 20)
    process.retain_freed_memory(100 << 20, always=True)
    process.retain_freed_memory(8 << 20)
    process.retain_freed_memory(200 << 20)
    assert [value >> 20 for option, value in told if option == process._TRIM_THRESHOLD] == [
        8, 100, 100, 200,
    ]  # fmt: skip
    assert [value >> 20 for option, value in told if option == process._MMAP_THRESHOLD] == [
        4, 32, 32, 32,
    ]  # fmt: skip
