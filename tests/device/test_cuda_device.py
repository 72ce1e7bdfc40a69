"""A program on a GPU, as the simulator has it: what the reference gives."""

from __future__ import annotations

import gc
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from cuda_cases import LENGTHS, PLAIN, Case, assert_same, closed, empty

from penstock.device.cuda import memory as cuda_memory
from penstock.device.cuda import tables as cuda_tables
from penstock.device.device import Change
from penstock.device.host import HostDevice
from penstock.device.spec import Device
from penstock.errors import OptionError, ProgramError

PROGRAMS = ("COUNTS", "LABELS", "WIDTHS", "MIXED")


@pytest.fixture(autouse=True)
def short_lists(monkeypatch):
    """Lists need not have a thousand edges to be long."""
    monkeypatch.setattr(cuda_tables, "BUCKETS", (3, 20))


# Pull

WAYS = [(name, way) for name in PROGRAMS for way in ("auto", "messages")]
WAYS += [("LABELS", "shards"), ("MIXED", "threads"), (PLAIN, "warps"), ("MIXED", "blocks")]
WAYS += [("WIDTHS", "buckets"), ("MIXED", "buckets")]


@pytest.mark.parametrize(("program", "way"), WAYS)
def test_pull_is_what_the_reference_gives(program, way):
    case = Case(program)
    device = case.device(gather=way)
    assert_same(case.pull(device), case.pulled())
    # Once more, from the lists that are on the device.
    assert device.has(case.piece())
    assert_same(case.pull(device, [empty(case.piece())], stream=1), case.pulled())
    assert device.cache_hits == 1
    closed(device)


def test_pull_of_one_long_list():
    case = Case("MIXED", (200,))
    device = case.device()
    assert_same(case.pull(device), case.pulled())
    closed(device)


@pytest.mark.parametrize("replicas", [1, 8])
def test_replicas_may_be_given(replicas):
    case = Case("WIDTHS")
    device = case.device(gather="shards", replicas=replicas)
    assert_same(case.pull(device), case.pulled())
    closed(device)


def test_shards_need_an_atomic_sum():
    with pytest.raises(OptionError, match="mixed: shards are for sums add, min or max"):
        Case("MIXED").device(gather="shards")


def test_vertices_and_pages_without_edges():
    case = Case("MIXED", (0, 0, 0))
    for way in ("auto", "messages"):
        device = case.device(gather=way)
        assert_same(case.pull(device), case.pulled())
        closed(device)


def test_arrays_may_begin_anywhere():
    """Local, new and gathered arrays are those of a window, flags those of all vertices."""
    case = Case("COUNTS")
    device = case.device()
    new, active, _ = case.pulled()
    local = tuple(array[2:] for array in case.arrays(case.signature.local))
    made = tuple(np.zeros(case.n - 2, array.dtype) for array in new)
    device.pull(0, case.piece(3, 5), 2, local, made, active, case.params)
    for ours, theirs in zip(made, new, strict=True):
        np.testing.assert_array_equal(ours[1:3], theirs[3:5])
        assert not ours[[0, 3]].any()
    closed(device)


def test_only_lists_that_have_arrived_are_found():
    """Until the queue is empty they may be on their way, and so may what is copied back."""
    case = Case(PLAIN)
    device = case.device(1)
    found = []

    class Queue:
        def synchronize(self):
            found.append((device.has(case.piece()), any(new[0])))

    device._streams.each[0].queue = Queue()
    new, active = case.outputs()
    local = case.arrays(case.signature.local)
    device.pull(0, case.piece(), 0, local, new, active, case.params)
    assert found == [(False, False)]
    assert device.has(case.piece())
    assert any(new[0])
    closed(device)


# Accumulate


@pytest.mark.parametrize("name", ["WIDTHS", "MIXED"])
@pytest.mark.parametrize("memory", [None, 40_000])
def test_accumulators_are_summed_to_what_they_hold(name, memory):
    """Lists of several vertices, and parts of one list as large pages have them."""
    case = Case(name)
    device = case.device(memory=memory)
    theirs, ours = case.sums(), case.sums()
    local, first = case.arrays(case.signature.local), int(case.block.offsets[3])
    parts = [case.piece()]
    for begin, end in ((first, first + 30), (first + 30, first + 40)):
        ends = np.array([begin, end], np.uint64)
        parts.append(
            case.piece(3, 4, page=begin)._replace(
                block=case.block._replace(first=3, offsets=ends, ends=ends[1:])
            )
        )
    for part in parts:
        case.reference.accumulate(
            part.block, part.begin, part.end, 0, 0, 0, case.gathered, local, theirs, case.params
        )
        device.accumulate(1, part, 0, 0, local, ours, case.params)
    for one, two in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6)
    closed(device)


def test_only_some_vertices_are_gathered_from():
    """As when values are divided among devices; other lists of the same page are not mixed up."""
    case = Case("LABELS")
    theirs, ours = case.sums(2**32 - 1), case.sums(2**32 - 1)
    device = case.device()
    local = case.arrays(case.signature.local)
    for low, high in ((0, 2), (2, 5), (5, 6), (0, 2)):
        held = tuple(array[low:high] for array in case.gathered)
        offsets = np.r_[0, np.cumsum(np.minimum(LENGTHS, 2))].astype(np.uint32)
        inside = np.random.default_rng(low).integers(0, high - low, offsets[-1]).astype(np.uint32)
        piece = case.piece()._replace(
            block=case.block._replace(offsets=offsets, ends=offsets[1:], neighbours=inside)
        )
        device.hold(low, held, None)
        assert device.held_bytes == 4 * (high - low)
        case.reference.accumulate(piece.block, 0, 6, 0, 0, low, held, local, theirs, case.params)
        device.accumulate(0, piece, 0, 0, local, ours, case.params)
    np.testing.assert_array_equal(ours, theirs)
    closed(device)


# Values that change


def values_of(device):
    return {name: array.copy_to_host() for name, array in device.values.current.items()}


@pytest.mark.parametrize("share", [1, 5])
def test_new_values_that_the_device_made_are_there_already(share):
    """Few of them are moved, with many the arrays take turns; the others keep their values."""
    case = Case("LABELS")
    device = case.device()
    new = case.pull(device, [case.piece(0, share)])[0][0]
    before = case.fields["label"].copy()
    nobody = np.full(case.n, 99, np.uint32)  # what the host has is not looked at
    device.hold(0, (nobody,), [Change(0, share, device)])
    expected = np.r_[new[:share], before[share:]]
    np.testing.assert_array_equal(values_of(device)["label"], expected)
    # The next iteration gathers from them.
    case.fields["label"] = expected
    assert_same(case.pull(device), case.pulled())
    closed(device)


def test_what_the_host_changed_is_copied_and_no_more():
    case = Case("MIXED")
    device = case.device()
    other = Case("MIXED", seed=1)
    changes = [Change(1, 2, None), Change(4, 6, HostDevice(Device(), None))]
    device.hold(0, other.gathered, changes)
    for name, now in values_of(device).items():
        expected = case.fields[name].copy()
        if name in case.program.state:
            expected[[1, 4, 5]] = other.fields[name][[1, 4, 5]]
        np.testing.assert_array_equal(now, expected)
    device.hold(0, other.gathered, None)
    assert [*values_of(device)] == ["heat", "out_degree", "kind", "best"]
    np.testing.assert_array_equal(values_of(device)["heat"], other.fields["heat"])
    np.testing.assert_array_equal(values_of(device)["kind"], case.fields["kind"])  # it is fixed
    closed(device)


def test_in_place_new_values_are_gathered_from_at_once():
    case = Case("LABELS", (4, 4, 4, 4))
    device = case.device(in_place=True)
    held = device.used_bytes
    for begin in (0, 2):
        expected = case.pulled()[0][0]
        new = case.pull(device, [case.piece(begin, begin + 2)])[0][0]
        np.testing.assert_array_equal(new[begin : begin + 2], expected[begin : begin + 2])
        case.fields["label"][begin : begin + 2] = new[begin : begin + 2]
        np.testing.assert_array_equal(values_of(device)["label"], case.fields["label"])
    device.hold(0, case.gathered, [Change(0, 4, device)])
    assert device.used_bytes == held
    closed(device)


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize(("in_place", "cut"), [(False, 2), (False, 4), (True, 2)])
def test_devices_take_over_each_others_values(monkeypatch, direct, in_place, cut):
    copies = []

    def can(*gpus):
        copies.append(gpus)
        return direct

    monkeypatch.setattr(cuda_memory, "can_copy_directly", can)
    case = Case("LABELS")
    devices = [case.device(in_place=in_place), case.device(in_place=in_place, number=1)]
    halves = (0, cut), (cut, case.n)
    for _ in range(2):
        new = [case.pull(d, [case.piece(*h)])[0][0] for d, h in zip(devices, halves, strict=True)]
        expected = np.r_[new[0][:cut], new[1][cut:]]
        np.testing.assert_array_equal(expected, case.pulled()[0][0])
        changes = [Change(*half, device) for device, half in zip(devices, halves, strict=True)]
        nobody = np.full(case.n, 99, np.uint32)
        for device in devices:
            device.hold(0, (nobody,), changes)
        for device in devices:
            np.testing.assert_array_equal(values_of(device)["label"], expected)
        case.fields["label"] = expected
    assert copies == [(1, 0), (0, 1)] * 2
    for device in devices:
        closed(device)


# Errors

FAILING = {
    "gather": lambda src, edge, dst: math.sqrt(-1.0 - src.x),
    "apply": lambda old, a: math.sqrt(-1.0 - old.x),
}


@pytest.mark.parametrize("role", ["gather", "apply"])
@pytest.mark.parametrize("memory", [None, 9_000])
def test_an_error_in_a_users_function_leaves_nothing_behind(role, memory):
    case = Case(replace(PLAIN, **{role: FAILING[role]}), (3, 60))
    device = case.device(1, memory=memory)
    for _ in range(3):
        try:
            case.pull(device)
        except ValueError:
            continue
        raise AssertionError("no error")
    assert not device.has(case.piece())
    cache = device._streams.cache
    assert (cache._begins, cache._ends) == ([0], [cache.capacity])  # no load is in use or kept
    del cache
    device.close()
    # The simulator's threads end when they like, and what they leave is garbage in cycles.
    deadline = time.monotonic() + 20
    while device.held_names and time.monotonic() < deadline:
        time.sleep(0.01)
        gc.collect()
    closed(device)


def test_push_needs_an_atomic_sum():
    case = Case("MIXED")
    device = case.device()
    with pytest.raises(ProgramError, match="mixed: a GPU pushes sums add, min or max"):
        device.begin_push(0, case.n, case.arrays(case.signature.of_dst))
    closed(device)
