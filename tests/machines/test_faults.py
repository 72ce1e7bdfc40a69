"""Faults in runs over hosts: what is judged how; and some of them, on processes and machines.
``python -m torture hosts`` tries all of them with all algorithms.
"""

from __future__ import annotations

import random

import pytest

pytest.importorskip("distributed", reason="needs penstock[cluster]")

from torture import hosts as campaign

from machines import certificates, faults, network
from machines.cluster import Cluster
from machines.faults import FAULTS, LOCAL, judge
from machines.network import Network, Share
from machines.parts import digest_of_parts
from machines.trying import CALLS, DEAL, Planned, Trial
from penstock.algorithms import find, names

needs_machines = pytest.mark.skipif(
    bool(network.missing() or certificates.missing()),
    reason=network.missing() or certificates.missing(),
)
CLEAR = {"error": "rank 1 (host b) is lost. Call again", "planned": True, "type": "WorkerError"}


@pytest.mark.parametrize(
    ("answer", "survives", "wrong"),
    [
        ({"digest": "a"}, True, ""),
        ({"digest": "b"}, False, "a wrong answer"),
        (None, False, "no answer within 60 s"),
        (CLEAR, False, ""),
        (CLEAR, True, "an error where the run should go on"),
        ({**CLEAR, "planned": False}, False, "an error that is not Penstock's: WorkerError"),
        ({**CLEAR, "error": "rank 1 is lost\nagain"}, False, "an error that is not one line"),
        ({**CLEAR, "error": "it failed; call again"}, False, "an error that does not say where"),
        ({**CLEAR, "error": "rank 1 is lost"}, False, "an error that does not say what to do"),
    ],
)
def test_what_is_judged_how(answer, survives, wrong):
    assert judge(answer, "a", survives=survives) == wrong


def test_every_algorithm_over_hosts_and_every_fault_is_tried():
    able = {name for name in names() if find(name).on_hosts}
    assert set(CALLS) == able == set(campaign._ALGORITHMS)
    assert set(FAULTS) == set(campaign._KINDS["machines"])
    assert set(LOCAL) == set(campaign._KINDS["processes"])
    assert set(FAULTS) >= faults.SURVIVED


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        from penstock.ingest import options

        patch.setattr(options, "MIN_PAGE_BYTES", options.MIN_PAGE_BYTES)
        return campaign._graph(tmp_path_factory.mktemp("graph"))


@pytest.fixture(scope="module")
def trial(graph):
    """Three machines with certificates."""
    with Network(3, Share(disk_bytes=32 << 20)) as made:
        certificate = certificates.make_certificate(made.folder)
        with Cluster(made, certificate, patience=2.0, pause=0.01, lease=4.0) as cluster:
            yield Trial(cluster, str(graph))


# Lost packets take as long as TCP waits: the campaign has them.
@needs_machines
@pytest.mark.parametrize("kind", [kind for kind in FAULTS if "packets" not in kind])
def test_a_fault_on_machines(trial, kind):
    rng = random.Random(kind)
    name = rng.choice(sorted(CALLS))
    call = {"algorithm": name, "parameters": CALLS[name], "options": {"load": rng.random() < 0.5}}
    trial.run(Planned(kind, call, rng.randrange(3), rng.random()))


@needs_machines
@pytest.mark.parametrize("kind", ["worker killed", "host killed", "worker stopped", "disk full"])
def test_a_fault_while_a_graph_is_dealt(trial, kind):
    """Dealt again, it is whole, in two copies that are the same."""
    rng = random.Random(f"deal {kind}")
    trial.run(Planned(kind, {"algorithm": DEAL}, rng.randrange(3), rng.random()))


def test_parts_that_are_not_the_graph_are_found():
    one, other = {"a": "1", "stripe/x": "2"}, {"a": "1", "stripe/x": "3"}
    assert digest_of_parts([one, one], 2) == digest_of_parts([one], 1)
    assert digest_of_parts([one, other], 2) == "copies of stripe/x differ"
    assert digest_of_parts([one, {"a": "1"}], 2) == "there are not 2 copies of ['stripe/x']"
