"""Machines from their descriptions."""

from __future__ import annotations

import pytest

from penstock.engine.machine import Devices, Machine, machine_text, parse_devices, parse_storages
from penstock.errors import OptionError


def test_devices_with_everything() -> None:
    text = "GPU: 2 x 12GiB, link=16GB/s, pages=6GB/s, edges=0.75G/s, streams=8, strategy=S"
    assert parse_devices(text) == Devices(2, 12 << 30, 16e9, 6e9, 750e6, 8, "S")


def test_one_device_and_no_options() -> None:
    assert parse_devices("gpu:500MB,link=1.5GB/s") == Devices(1, 500_000_000, 1.5e9)


def test_edges_without_a_unit() -> None:
    assert parse_devices("gpu:1GB,link=1GB/s,edges=1000").edge_rate == 1000


def test_storages() -> None:
    found = parse_storages("hdd:2x165MB/s")
    assert (found.kind, found.count, found.total_rate) == ("hdd", 2, 330e6)
    assert found.kept_share(10**9) == 0


@pytest.mark.parametrize(
    ("buffer", "share"), [("20%", 0.2), ("0%", 0), ("100%", 1), ("300MB", 0.3), ("5GB", 1)]
)
def test_the_buffer_is_a_share_or_bytes(buffer: str, share: float) -> None:
    found = parse_storages(f"ssd:1GB/s,buffer={buffer}")
    assert found.kept_share(10**9) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected gpu:"),
        ("gpu", "expected gpu:"),
        ("gpu:", "expected gpu:"),
        ("tpu:4GB,link=1GB/s", "got 'tpu'"),
        ("gpu:0x4GB,link=1GB/s", "at least one"),
        ("gpu:much,link=1GB/s", "number of bytes such as"),
        ("gpu:4GB", "expected link=RATE"),
        ("gpu:4GB,link=6GB", "bytes a second such as 6GB/s, got '6GB'"),
        ("gpu:4GB,link=fast/s", "got 'fast'"),
        ("gpu:4GB,link=1GB/s,edges=0", "edges a second such as 750M/s, got '0'"),
        ("gpu:4GB,link=1GB/s,edges=many", "got 'many'"),
        ("gpu:4GB,link=1GB/s,streams=33", "from 1 to 32, got '33'"),
        ("gpu:4GB,link=1GB/s,streams=x", "got 'x'"),
        ("gpu:4GB,link=1GB/s,strategy=Q", "expected P"),
        ("gpu:4GB,link=1GB/s,speed=3", "expected one of link="),
        ("gpu:4GB,link=1GB/s,strategy", "got 'strategy'"),
        ("gpu:4GB,link=1GB/s,link=2GB/s", "given twice"),
    ],
)
def test_wrong_devices(text: str, said: str) -> None:
    with pytest.raises(OptionError, match=r"^device: ") as caught:
        parse_devices(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fast", "expected NAME:"),
        ("ssd:2x2.5GB", "bytes a second"),
        ("ssd:0x1GB/s", "at least one"),
        ("ssd:1GB/s,cache=1GB", "expected one of buffer="),
        ("ssd:1GB/s,buffer=101%", "from 0% to 100%, got '101%'"),
        ("ssd:1GB/s,buffer=half%", "got 'half%'"),
        ("ssd:1GB/s,buffer=some", "got 'some'"),
    ],
)
def test_wrong_storages(text: str, said: str) -> None:
    with pytest.raises(OptionError, match=r"^storage: ?") as caught:
        parse_storages(text)
    assert said in str(caught.value)


def test_machines_in_words() -> None:
    one = parse_devices("gpu:6GB,link=6GB/s")
    assert machine_text(Machine(one)) == (
        "1 GPU of 6.0 GB, a link of 6.0 GB/s; all pages in the host's memory"
    )
    two = parse_devices("gpu:2x6GB,link=6GB/s,pages=5GB/s")
    assert machine_text(Machine(two, parse_storages("ssd:2x2.5GB/s"))) == (
        "2 GPUs of 6.0 GB, a link of 6.0 GB/s to each, pages at 5.0 GB/s altogether; "
        "2 ssds of 2.5 GB/s"
    )
