"""What users give for hosts, which addresses are allowed, and what ranks may use."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

import penstock as ps
from penstock.distributed.addresses import check_address, host_of, is_loopback
from penstock.distributed.host_choice import read_hosts
from penstock.distributed.rank_limits import RankLimits, limits_here
from penstock.distributed.slurm import find_step
from penstock.errors import OptionError


@pytest.mark.parametrize("given", [4, "4", " 4 "])
def test_a_number_is_so_many_processes(given):
    found = read_hosts(given)
    assert (found.kind, found.count) == ("count", 4)


@pytest.mark.parametrize("given", ["tls://h1:8786", "tcp://127.0.0.1:8786", "tls://[::1]:8786"])
def test_an_address(given):
    found = read_hosts(given)
    assert (found.kind, found.address, found.count) == ("address", given, None)


def test_ssh():
    found = read_hosts("ssh:h1, me@h2,10.0.0.7,[fe80::1]")
    assert found.names == ("h1", "me@h2", "10.0.0.7", "[fe80::1]")
    assert found.count == 4


def test_slurm_has_a_rank_less_than_processes():
    assert read_hosts("slurm", {"SLURM_NTASKS": "6"}).count == 5
    assert read_hosts("slurm", {"SLURM_NTASKS": "9", "SLURM_STEP_NUM_TASKS": "3"}).count == 2
    assert read_hosts("slurm", {}).count is None


def test_a_client():
    client = SimpleNamespace(scheduler=None)
    assert read_hosts(client).client is client


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0, "whole number of at least 1"),
        ("0", "whole number of at least 1"),
        (True, "True was given; it must be"),
        (2.0, "2.0 was given; it must be"),
        ("", "it must be a number of processes"),
        ("mpi", "'mpi' is not available yet"),
        ("h1:8786", "it must be a number of processes"),
        ("tls://h1", "an address is tls://HOST:PORT"),
        ("tls://:8786", "an address is tls://HOST:PORT"),
        ("ssh:", "in place of the name of a host"),
        ("ssh:h1,,h2", "in place of the name of a host"),
        ("ssh:-oProxyCommand=touch", "in place of the name of a host"),
        ("ssh:h1;touch x", "in place of the name of a host"),
        ("slurm:3", "it must be a number of processes"),
    ],
)
def test_what_cannot_be_hosts(given, message):
    with pytest.raises(OptionError, match=message):
        read_hosts(given)


@pytest.mark.parametrize(
    "host", ["localhost.example.org", "127.example.org", "10.0.0.1", "0.0.0.0", "::", "h1", ""]
)
def test_names_that_others_can_reach(host):
    assert not is_loopback(host)
    with pytest.raises(OptionError, match="not encrypted"):
        check_address(f"tcp://[{host}]:8786", insecure=False)
    check_address(f"tls://[{host}]:8786", insecure=False)
    check_address(f"tcp://[{host}]:8786", insecure=True)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.10", "::1"])
def test_names_of_this_machine(host):
    address = f"tcp://[{host}]:8786"
    assert host_of(address) == host
    check_address(address, insecure=False)


def test_other_schemes_are_refused():
    with pytest.raises(OptionError, match="neither tcp:// nor tls://"):
        check_address("ucx://h1:8786", insecure=False)


def test_limits_of_a_rank():
    told = RankLimits(memory=100, threads=3)
    assert told.memory_for(None, 50) == 100
    assert told.memory_for(70, 50) == 70
    assert told.memory_for(300, 50) == 100
    assert told.threads_for(None, 1) == 3
    assert told.threads_for(2, 1) == 2
    assert limits_here({}) == RankLimits()
    assert RankLimits().threads_for(None, 7) == 7


STEP = {
    "SLURM_PROCID": "2", "SLURM_NTASKS": "3", "SLURM_JOB_ID": "5", "SLURM_STEP_ID": "1",
    "SLURM_NNODES": "1",
}  # fmt: skip


def test_a_process_of_slurm(tmp_path):
    step = find_step({**STEP, "PENSTOCK_SLURM_DIR": str(tmp_path)})
    assert (step.rank, step.size, step.launcher) == (2, 3, None)
    assert step.folder.parent == tmp_path
    assert step.names == ["slurm-1", "slurm-2"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"SLURM_PROCID": ""}, "SLURM_PROCID is not set"),
        ({"SLURM_NTASKS": "1"}, "at least 2 processes"),
        ({"SLURM_NNODES": "2"}, "SLURM_LAUNCH_NODE_IPADDR is not set"),
    ],
)
def test_what_is_no_step_of_slurm(changed, message):
    with pytest.raises(OptionError, match=message):
        find_step({**STEP, **changed})


def test_a_missing_extra_is_named():
    """Dask is not there; the package is, and says what to install."""
    code = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = None\n"
        "import penstock as ps\n"
        "try:\n    ps.Hosts(2)\n"
        "except ps.PenstockError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'penstock[cluster]'" in done.stdout


def test_threads_of_hosts_are_checked():
    with pytest.raises(OptionError, match="threads: 0 was given"):
        ps.Hosts(2, threads=0)


def test_two_kinds_of_certificates_are_refused(tmp_path):
    pytest.importorskip("distributed", reason="needs penstock[cluster]")
    with pytest.raises(OptionError, match="both tls and security"):
        ps.Hosts(2, tls=tmp_path, security=object())
