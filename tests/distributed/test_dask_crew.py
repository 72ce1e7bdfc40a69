"""What a crew may end: processes that it has started on this machine, and no others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("distributed")

from penstock.distributed import dask_crew


class FakeClient:
    """As much of a Dask client as a crew asks of one."""

    asynchronous = False
    status = "running"
    scheduler = None

    def sync(self, function: Callable[..., Any], *args: Any) -> Any:
        return asyncio.run(function(*args))

    async def nthreads(self) -> dict[str, int]:
        return {"tcp://127.0.0.1:1": 1}


@pytest.mark.parametrize("end_worker", [None, print])
def test_only_workers_that_can_be_ended_are(monkeypatch: Any, end_worker: Any) -> None:
    said = []

    class FakeGang:
        def __init__(self, *args: Any, end_worker: Any) -> None:
            said.append(end_worker)

        async def run(self, function: Any, args: Any) -> list[Any]:
            return []

    monkeypatch.setattr(dask_crew, "Gang", FakeGang)
    # The cluster may be one of processes that ssh has started: their numbers mean others here.
    crew = dask_crew.DaskCrew(FakeClient(), cluster=object(), end_worker=end_worker)
    assert crew.run(print) == []
    assert said == [end_worker]
