"""Energy from counters in files: which count, how they go round, and what cannot be told."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from penstock.interfaces.bench import power
from penstock.interfaces.bench.power import Meter


class Counters:
    """A tree like /sys/class/powercap, where every zone is a folder right below."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def add(self, zone: str, name: str, energy: int, most: int = 1_000_000_000) -> None:
        (self.folder / zone).mkdir()
        (self.folder / zone / "name").write_text(f"{name}\n")
        (self.folder / zone / "max_energy_range_uj").write_text(f"{most}\n")
        self.set(zone, energy)

    def set(self, zone: str, energy: int) -> None:
        # In one go: a reader never finds half of it.
        new = self.folder / zone / "new"
        new.write_text(f"{energy}\n")
        new.rename(self.folder / zone / "energy_uj")


@pytest.fixture
def counters(tmp_path):
    found = Counters(tmp_path / "powercap")
    (found.folder / "intel-rapl").mkdir()
    found.add("intel-rapl:0", "package-0", 100)
    return found


def joules(counters: Counters, **changes: int) -> float | None:
    with Meter.open(counters.folder).measuring() as energy:
        for zone, value in changes.items():
            counters.set(zone.replace("_", ":").replace("rapl", "intel-rapl"), value)
    return energy.joules


def test_one_package(counters):
    assert joules(counters, rapl_0=2_500_100) == 2.5


def test_packages_and_their_memory_add_up(counters):
    counters.add("intel-rapl:1", "package-1", 7)
    counters.add("intel-rapl:1:0", "core", 0)
    counters.add("intel-rapl:1:1", "dram", 1000)
    changes = {"rapl_0": 1_000_100, "rapl_1": 2_000_007, "rapl_1_0": 9_000_000, "rapl_1_1": 501_000}
    assert joules(counters, **changes) == 3.5
    names = [zone.name for zone in Meter.open(counters.folder).zones]
    assert names == ["package-0", "package-1", "package-1 dram"]


def test_a_package_under_two_drivers_counts_once(counters):
    counters.add("intel-rapl-mmio:0", "package-0", 0)
    counters.add("intel-rapl:1", "psys", 0)
    assert len(Meter.open(counters.folder).zones) == 1


def test_a_counter_that_began_again(counters):
    counters.set("intel-rapl:0", 999_000_000)
    assert joules(counters, rapl_0=500_000) == 1.5


def test_a_counter_that_goes_round_more_than_once_is_read_often(counters, monkeypatch):
    monkeypatch.setattr(power, "READ_EVERY_SECONDS", 0.001)
    meter = Meter.open(counters.folder)
    zone = meter.zones[0]
    with meter.measuring() as energy:
        for value in (900_000_000, 800_000_000, 700_000_100):
            counters.set("intel-rapl:0", value)
            while meter.zones and zone.last_uj != value:
                time.sleep(0.001)
    # 900 less 100 micro-joules, then twice 900 joules.
    assert energy.joules == pytest.approx(2700)


def test_nothing_is_known_without_counters(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        meter = Meter.open(folder)
        with meter.measuring() as energy:
            pass
        assert energy.joules is None
        assert str(folder) in meter.trouble


def test_a_counter_that_cannot_be_read(counters):
    path = counters.folder / "intel-rapl:0" / "energy_uj"
    path.unlink()
    meter = Meter.open(counters.folder)
    with meter.measuring() as energy:
        pass
    assert (energy.joules, meter.zones) == (None, [])
    assert str(path) in meter.trouble


def test_a_counter_that_goes_away(counters):
    meter = Meter.open(counters.folder)
    with meter.measuring() as energy:
        (counters.folder / "intel-rapl:0" / "energy_uj").unlink()
    assert energy.joules is None
    assert "energy_uj" in meter.trouble


def test_a_counter_that_did_not_move_says_nothing(counters):
    assert joules(counters) is None
