"""Machines that are network namespaces: apart from each other, and gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from machines import network
from machines.network import Network, Share

pytestmark = pytest.mark.skipif(bool(network.missing()), reason=network.missing())

LISTEN = """
import socket, sys
with socket.create_server((sys.argv[1], 7000)) as server:
    print("ready", flush=True)
    while True:
        server.accept()[0].sendall(socket.gethostname().encode())
"""
CALL = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], 7000), timeout=float(sys.argv[2])) as connection:
        print(connection.recv(100).decode())
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture
def two():
    with Network(2) as made:
        yield made


def call(caller, listener, seconds=5.0):
    command = [sys.executable, "-c", CALL, listener.address, str(seconds)]
    process = caller.start(command, stdout=subprocess.PIPE, text=True)
    return process.communicate(timeout=60)[0].strip()


@pytest.fixture
def listening(two):
    """The second machine listens."""
    machine = two.machines[1]
    process = machine.start(
        [sys.executable, "-c", LISTEN, machine.address], stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "ready\n"
        yield machine
        process.kill()


def test_machines_reach_each_other_by_link(two, listening):
    first, second = two.machines
    assert call(first, second) == "machine1"
    second.unplug()
    assert call(first, second, 0.3) == "TimeoutError"
    second.plug()
    assert call(first, second) == "machine1"
    # Nothing of it is to be seen from outside of the namespaces.
    assert (
        second.address
        not in subprocess.run(["ip", "address"], capture_output=True, text=True, check=True).stdout
    )


def test_packets_are_lost(two, listening):
    first, second = two.machines
    second.lose(99)
    assert call(first, second, 0.3) == "TimeoutError"
    second.lose_nothing()
    assert call(first, second) == "machine1"


def test_a_machine_has_a_disk_of_its_own():
    with Network(1, Share(disk_bytes=1 << 20)) as made:
        (machine,) = made.machines
        script = f'dd if=/dev/zero of="{machine.folder}/file" bs=1M count=2 2>&1'
        process = machine.start(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
        assert "No space left" in process.communicate(timeout=60)[0]
        assert not list(machine.folder.iterdir())


@pytest.mark.skipif(bool(network.missing_groups()), reason=network.missing_groups())
def test_shares_are_in_groups():
    with Network(1, Share(cores=0.5, memory_bytes=1 << 30, megabits=100)) as made:
        (machine,) = made.machines
        process = machine.start(["sleep", "100"])
        wait(lambda: b"sleep" in Path(f"/proc/{process.pid}/comm").read_bytes())
        groups = Path(f"/proc/{process.pid}/cgroup").read_text()
        assert f":/{machine.namespace}" in groups
        folders = machine.groups()
        assert (folders[0] / "cpu.cfs_period_us").read_text() == "5000\n"
        assert (folders[0] / "cpu.cfs_quota_us").read_text() == "2500\n"
    assert process.wait(10) == -signal.SIGKILL
    assert not any(folder.exists() for folder in folders)


def test_all_is_removed_when_it_is_closed():
    with Network(2) as made:
        process = made.machines[1].start(["sleep", "100"])
        assert network.spaces_of(os.getpid())
    assert process.wait(10) == -signal.SIGKILL
    assert not network.spaces_of(os.getpid())
    assert not made.folder.exists()


MAKE = """
import time
from machines.network import Network
made = Network(2)
made.machines[0].start(["sleep", "100"])
print(made.folder, flush=True)
time.sleep(100)
"""


def test_all_is_removed_when_its_owner_is_killed():
    tests = str(Path(__file__).parent.parent)
    process = subprocess.Popen(
        [sys.executable, "-c", MAKE], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": tests},
    )  # fmt: skip
    with process:
        folder = Path(process.stdout.readline().strip())
        assert len(network.spaces_of(process.pid)) == 3
        process.kill()
    wait(lambda: not network.spaces_of(process.pid) and not folder.exists())


def wait(true, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)
