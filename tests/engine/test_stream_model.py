"""The papers' cost model against the figures that GStream 2.0 published.

The machine is the paper's: two devices of 12 GB, PCI-E at 16 GB/s, pages at 6 GB/s ("streaming copy
mode"). Kernels do 1,500 million edges a second, its best speed: that is of Twitter, which is small
enough to stay on the devices. 20% of the pages are in the host's memory if they come from storage,
as it says of RMAT31 and RMAT32.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from penstock.engine.machine import Devices, Machine, parse_devices, parse_storages
from penstock.engine.page_model import (
    PageFormat,
    Pages,
    count_pages,
    paper_pages,
    rmat_degrees,
)
from penstock.engine.stream_model import (
    PAPER_ATTRIBUTES,
    Attributes,
    DevicePlan,
    Prediction,
    Workload,
    attributes_of,
    plan_device,
    predict,
)
from penstock.errors import BudgetError, OptionError

DEVICES = "gpu:2x12GiB,link=16GB/s,pages=6GB/s,edges=750M/s"
SSDS = "ssd:2x2.5GB/s,buffer=20%"
HDDS = "hdd:2x165MB/s,buffer=20%"


@cache
def rmat(scale: int) -> Pages:
    return paper_pages(rmat_degrees(scale))


def work_of(scale: int, algorithm: str = "pagerank", passes: float = 10) -> Workload:
    return Workload(rmat(scale), PAPER_ATTRIBUTES[algorithm], passes)


def machine_of(devices: str = DEVICES, storages: str | None = None) -> Machine:
    return Machine(parse_devices(devices), None if storages is None else parse_storages(storages))


def predicted(scale: int, devices: str = DEVICES, storages: str | None = None) -> Prediction:
    return predict(work_of(scale), machine_of(devices, storages))


# Published figures


@pytest.mark.parametrize(
    ("storages", "calculated", "measured", "off", "limit"),
    [
        (None, 190, 153, 0.22, "link"),
        (SSDS, 228, 196, 0.03, "storage"),
        (HDDS, 3_454, 2_843, 0.03, "storage"),
    ],
    ids=["memory", "ssd", "hdd"],
)
def test_pagerank_of_rmat30(
    storages: str | None, calculated: float, measured: float, off: float, limit: str
) -> None:
    found = predicted(30, storages=storages)
    assert found.plain_seconds == pytest.approx(calculated, rel=0.04)  # 20% is what is asked for
    assert found.seconds == pytest.approx(measured, rel=0.25)
    assert found.seconds / measured - 1 == pytest.approx(off, abs=0.01)
    assert found.limit == limit


def test_pagerank_of_rmat29() -> None:
    found = predicted(29)
    assert found.seconds == pytest.approx(59, rel=0.05)
    assert found.limit == "kernels"


def test_pagerank_of_rmat29_without_a_rate_of_kernels() -> None:
    found = predicted(29, DEVICES.replace(",edges=750M/s", ""))
    assert found.seconds == pytest.approx(59, rel=0.25)
    assert found.kernel_seconds == 0


def test_strategy_p_is_slightly_faster_than_s_from_memory_and_alike_from_disks() -> None:
    for storages, least, most in ((None, 1.0, 1.1), (HDDS, 0.99, 1.01)):
        one = predicted(30, storages=storages).seconds
        other = predicted(30, f"{DEVICES},strategy=S", storages).seconds
        assert least < other / one < most


@pytest.mark.parametrize(
    ("scale", "sizes"),
    [
        (28, (0.5, 1, 1, 2)),
        (29, (1, 2, 2, 4)),
        (30, (2, 4, 4, 8)),
        (31, (4, 8, 8, 16)),
        (32, (8, 16, 16, 32)),
    ],
)
def test_values_of_table_4(scale: int, sizes: tuple[float, ...]) -> None:
    names = ("bfs", "pagerank", "sssp", "connected_components")
    found = [work_of(scale, name).written_bytes / 2**30 for name in names]
    assert found == list(sizes)


def test_values_are_a_small_part_of_the_topology() -> None:
    """Between 1.7% and 10%, the paper says."""
    shares = [
        work_of(scale, name).written_bytes / rmat(scale).topology_bytes
        for scale in range(28, 33)
        for name in PAPER_ATTRIBUTES
    ]
    assert min(shares) == pytest.approx(0.017, abs=0.002)
    assert max(shares) == pytest.approx(0.10, abs=0.006)


def placed(scale: int, algorithm: str, devices: str) -> DevicePlan:
    return plan_device(work_of(scale, algorithm), parse_devices(f"gpu:{devices},link=6GB/s"))


@pytest.mark.parametrize(
    ("scale", "algorithm", "devices", "strategy", "chunks"),
    [
        (30, "pagerank", "6GB", "P", 1),
        (30, "pagerank", "2x6GB", "P", 1),
        (31, "pagerank", "2x6GB", "S", 1),
        (31, "pagerank", "6GB", "S", 2),
        (32, "bfs", "2x6GB", "S", 1),
        (32, "pagerank", "2x12GB", "S", 1),
        (32, "sssp", "2x12GB", "S", 1),
        (31, "connected_components", "2x12GB", "S", 1),
        # All of Table 4 fits two devices but this one.
        (32, "connected_components", "2x12GB", "S", 2),
    ],
)
def test_which_graphs_fit(
    scale: int, algorithm: str, devices: str, strategy: str, chunks: int
) -> None:
    found = placed(scale, algorithm, devices)
    assert (found.strategy, found.chunks) == (strategy, chunks)


def test_a_cache_of_5120_mb_fits_beside_bfs_up_to_rmat28() -> None:
    """Figure 15, on a device of 6 GB."""
    assert placed(28, "bfs", "6GB").buffer_bytes > 5_120e6
    assert 1_024e6 < placed(29, "bfs", "6GB").buffer_bytes < 5_120e6


def test_hits_grow_with_the_cache_and_fall_with_the_topology() -> None:
    """Figure 15b: both in proportion."""

    def hits(scale: int, cache_bytes: int) -> float:
        work = work_of(scale, "bfs")
        size = work.written_bytes + cache_bytes
        return predict(work, Machine(Devices(1, size, 6e9))).device_hits

    assert hits(28, 2 << 30) == pytest.approx(2 * hits(28, 1 << 30), rel=0.01)
    assert hits(29, 1 << 30) == pytest.approx(hits(28, 1 << 30) / 2, rel=0.02)
    assert hits(28, 1 << 40) == 1


# The model itself, in round numbers: 1000 pages of 1000 bytes, values of 1 byte


PAGES = Pages(PageFormat(2, 2, 1000), 10_000, 50_000, 1000, 0)
ONE = Devices(1, 11_000, 1000.0, streams=1)


def test_one_stream_does_one_thing_after_the_other() -> None:
    work = Workload(PAGES, Attributes(1, 0), 1)
    devices = replace(ONE, edge_rate=50.0)
    machine = Machine(devices, parse_storages("ssd:500B/s"))
    found = predict(work, machine)
    assert (found.storage_seconds, found.link_seconds, found.kernel_seconds) == (2000, 1000, 1000)
    assert (found.copy_seconds, found.seconds) == (20, 4020)
    wider = replace(devices, memory_bytes=12_000, streams=2)
    both = predict(work, replace(machine, devices=wider))
    assert (both.seconds, both.limit) == (2020, "storage")
    assert (both.bytes_read, both.bytes_sent) == (1_000_000, 1_000_000)


def test_pages_that_stay_are_sent_once() -> None:
    devices = replace(ONE, memory_bytes=10_000 + 250_000, streams=2)
    found = predict(Workload(PAGES, Attributes(1, 0), 3), Machine(devices))
    assert found.device_hits == 0.25
    assert found.link_seconds == 1000 * (1 + 2 * 0.75)
    assert found.plain_seconds == 3000


def test_read_only_values_go_with_the_pages_each_time() -> None:
    devices = replace(ONE, memory_bytes=1 << 30, streams=2)
    found = predict(Workload(PAGES, Attributes(1, 2), 3), Machine(devices))
    assert found.link_seconds == 1000 + 3 * 20
    assert found.plan.read_buffer_bytes == 2 * PAGES.format.most_vertices * 2


def test_a_buffer_in_the_host_saves_reading_and_not_sending() -> None:
    work = Workload(PAGES, Attributes(1, 0), 3)
    machine = Machine(replace(ONE, memory_bytes=12_000, streams=2), parse_storages("ssd:1kB/s"))
    cold = predict(work, machine)
    kept = predict(work, replace(machine, storages=parse_storages("ssd:1kB/s,buffer=500kB")))
    all_kept = predict(work, replace(machine, storages=parse_storages("ssd:1kB/s,buffer=100%")))
    assert kept.bytes_read == 2_000_000
    assert all_kept.bytes_read == 1_000_000
    assert cold.bytes_read == cold.bytes_sent == kept.bytes_sent == 2_996_000
    assert kept.host_bytes - cold.host_bytes == 500_000 - 2_000


def test_two_devices_share_pages_in_p_and_get_all_in_s() -> None:
    work = Workload(PAGES, Attributes(1, 0), 1)
    two = Devices(2, 12_000, 1000.0, streams=2)
    one, other = (
        predict(work, Machine(replace(two, strategy=strategy))) for strategy in ("P", "S")
    )
    assert (one.link_seconds, other.link_seconds) == (500, 1000)
    assert (one.plan.written_bytes, other.plan.written_bytes) == (10_000, 5_000)
    # To both, one to the other, back; half to each, both halves back.
    assert (one.copy_seconds, other.copy_seconds) == (30, 15)


@pytest.mark.parametrize("strategy", ["P", "S"])
def test_the_host_sends_each_page_once(strategy: str) -> None:
    work = Workload(PAGES, Attributes(1, 0), 1)
    devices = parse_devices(f"gpu:2x12kB,link=1kB/s,pages=800B/s,strategy={strategy}")
    found = predict(work, Machine(devices))
    assert found.link_seconds == found.plain_seconds == 1250


def test_parts_of_the_values_take_a_round_of_pages_each() -> None:
    found = predict(Workload(PAGES, Attributes(1, 0), 2), Machine(replace(ONE, memory_bytes=5_000)))
    assert (found.plan.strategy, found.plan.chunks) == ("S", 3)
    assert found.plain_seconds == 6000
    assert found.plan.memory_bytes <= 5_000


@pytest.mark.parametrize("memory", [1_100, 1_500, 4_000, 11_000, 12_000, 60_000, 10**7])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("read", [0, 4])
def test_a_plan_fits_its_device(memory: int, count: int, read: int) -> None:
    work = Workload(PAGES, Attributes(1, read), 1)
    devices = Devices(count, memory, 1000.0)
    try:
        found = plan_device(work, devices)
    except BudgetError:
        assert memory < 1_500
        return
    assert found.memory_bytes <= memory
    assert found.streams >= 1
    assert found.buffer_pages >= found.streams
    held = found.written_bytes * found.chunks * (count if found.strategy == "S" else 1)
    assert held >= work.written_bytes


def test_a_device_that_is_too_small_and_one_that_would_do() -> None:
    work = Workload(PAGES, Attributes(1, 1), 1)
    with pytest.raises(BudgetError, match="requires a device of at least") as caught:
        plan_device(work, replace(ONE, memory_bytes=900))
    assert "900 B is not enough" in str(caught.value)
    with pytest.raises(BudgetError, match="or strategy=S"):
        plan_device(work, replace(ONE, memory_bytes=9_000, strategy="P"))


def test_part_of_a_pass_reads_part_of_the_pages() -> None:
    machine = Machine(replace(ONE, memory_bytes=12_000, streams=2), parse_storages("ssd:1kB/s"))
    found = predict(Workload(PAGES, Attributes(1, 0), 0.5), machine)
    assert (found.bytes_read, found.bytes_sent, found.copy_seconds) == (500_000, 500_000, 20)


def test_a_graph_without_vertices() -> None:
    none = count_pages([], PageFormat(2, 2, 1000))
    found = predict(Workload(none, Attributes(1, 1), 1), Machine(ONE))
    assert (found.seconds, found.device_hits) == (0, 1)


def test_algorithms_that_the_paper_does_not_size() -> None:
    with pytest.raises(OptionError, match="got triangles: choose one of these"):
        attributes_of("triangles")
    assert attributes_of("bfs") == Attributes(2, 0)
