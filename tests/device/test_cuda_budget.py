"""A GPU's memory is enough or the device says so: smaller loads, and the cache of those."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest
from cuda_cases import PLAIN, Case, assert_same, closed, empty

from penstock.config import parse_bytes
from penstock.device.device import Change
from penstock.errors import BudgetError


def least(case, streams=1, **options):
    """The figure that the refusal names."""
    with pytest.raises(BudgetError, match="requires at least") as refused:
        case.device(streams, memory=1, **options)
    message = str(refused.value)
    assert f"{case.program.name}" not in message
    return parse_bytes(re.search(r"requires at least (.*?B)\b", message)[1])


WAYS = [(PLAIN, "auto"), (PLAIN, "messages"), ("LABELS", "messages"), ("MIXED", "auto")]


@pytest.mark.parametrize(("program", "way"), WAYS)
def test_what_does_not_fit_goes_in_smaller_loads(program, way):
    case = Case(program, (2, 0, 50, 3))
    lowest = least(case, gather=way)
    for memory in (lowest, 4 * lowest):
        device = case.device(1, memory=memory, gather=way)
        assert_same(case.pull(device), case.pulled())
        assert device.used_bytes <= memory
        closed(device)


def test_less_than_the_least_is_refused():
    case = Case("WIDTHS")
    exact = case.device(2)
    values = sum(array.nbytes for array in case.gathered)
    needed = exact._streams._least() + values
    closed(exact)
    closed(case.device(2, memory=needed))
    with pytest.raises(BudgetError, match="2 streams") as refused:
        case.device(2, memory=needed - 1)
    assert "gathered values need 24 B" in str(refused.value)
    assert least(case, 2) >= needed
    assert least(case, 1) < needed


def test_accumulators_that_do_not_fit_are_refused():
    """What was there before still works."""
    case = Case(PLAIN, (2,) * 100)
    memory = least(case)
    device = case.device(1, memory=memory)
    with pytest.raises(BudgetError, match=r"accumulators need 925 B") as refused:
        device.begin_push(0, case.n, case.arrays(case.signature.of_dst))
    enough = parse_bytes(re.search(r"requires at least (.*?B)\b", str(refused.value))[1])
    some = [case.piece(0, 3)]
    np.testing.assert_array_equal(case.pull(device, some)[0][0][:3], case.pulled()[0][0][:3])
    closed(device)
    device = case.device(1, memory=enough)
    device.begin_push(0, case.n, case.arrays(case.signature.of_dst))
    closed(device)


def test_a_graph_without_vertices():
    case = Case("COUNTS", ())
    device = case.device(1, firsts=np.empty(0, np.uint32))
    assert case.pull(device)[2] == (0, 0, 0)
    device.begin_push(0, 0, case.arrays(case.signature.of_dst))
    assert len(device.touched_pages()) == len(device.take_sums(0, 0, [])[0]) == 0
    closed(device)


def test_new_values_stay_only_if_there_is_room():
    case = Case("LABELS", (1,) * 2000)
    lowest = least(case)
    tight, roomy = case.device(1, memory=lowest), case.device(1, memory=lowest + 9000)
    assert (tight.values.kept, roomy.values.kept) == ((), ("label",))
    assert tight.held_bytes == roomy.held_bytes == 8000
    for device in (tight, roomy):
        device.hold(0, case.gathered, [Change(0, 2000, device)])
        closed(device)


# The cache


def pages(case):
    return [case.piece(v, v + 1, page=v) for v in range(case.n)]


def test_lists_are_kept_until_others_need_their_place():
    case = Case(PLAIN, (300,) * 6)
    device = case.device(1, memory=12_000, gather="threads")
    for piece in pages(case):
        case.pull(device, [piece])
    there = [device.has(piece) for piece in pages(case)]
    assert there[-1]
    assert not all(there)
    assert there == sorted(there)  # the latest ones are there
    closed(device)


def test_too_small_a_budget_keeps_nothing():
    case = Case(PLAIN, (100,) * 3)
    device = case.device(1, memory=least(case))
    for piece in pages(case):
        case.pull(device, [piece])
        assert not device.has(piece)
    assert device.cache_hits == 0
    closed(device)


def test_lists_that_were_asked_for_stay():
    """Whatever others load meanwhile."""
    case = Case(PLAIN, (300,) * 12)
    device = case.device(2, memory=26_000, gather="threads")
    expected = case.pulled()[0][0]
    pieces = pages(case)
    case.pull(device, pieces[:1])
    assert device.has(pieces[0])
    others = threading.Thread(target=lambda: case.pull(device, pieces[1:], 1))
    others.start()
    others.join()
    assert device._streams.cache.evictions > 0
    new, _, _ = case.pull(device, [empty(pieces[0])])
    assert new[0][0] == expected[0]
    # Now that they were used, they need not stay.
    case.pull(device, pieces[1:], 1)
    assert not device.has(pieces[0])
    closed(device)


def test_all_pieces_of_a_page_stay_or_none_is_promised():
    """A page of many vertices is in several pieces, and is read unless all of them are there."""
    case = Case(PLAIN, (300,) * 12)
    device = case.device(2, memory=26_000, gather="threads")
    expected = case.pulled()[0][0]
    pieces = [piece._replace(page=min(v, 3)) for v, piece in enumerate(pages(case))]
    halves = pieces[3:5]  # of one page
    case.pull(device, halves)
    assert [device.has(half) for half in halves] == [True, True]
    assert device.has(halves[0])  # asking again takes nothing more
    others = threading.Thread(target=lambda: case.pull(device, pieces[5:], 1))
    others.start()
    others.join()
    new, _, _ = case.pull(device, [empty(half) for half in halves])
    np.testing.assert_array_equal(new[0][3:5], expected[3:5])
    # No more than one for each stream can be promised at a time.
    three = pieces[9:12]
    case.pull(device, three)
    assert [device.has(piece) for piece in three] == [True, True, False]
    closed(device)


def test_what_was_asked_for_and_not_used_does_not_stay_for_ever():
    case = Case(PLAIN, (300,) * 6)
    device = case.device(1, memory=12_000, gather="threads")
    pieces = pages(case)
    case.pull(device, pieces)
    assert device.has(pieces[-1])
    assert not device.has(pieces[0])  # asks for another page: the first may go
    case.pull(device, pieces[:-1])
    assert not device.has(pieces[-1])
    assert device.has(pieces[-2])
    device.hold(0, case.gathered, [])  # the next iteration
    case.pull(device, pieces[:-2])
    assert not device.has(pieces[-2])
    closed(device)


def test_streams_work_at_once():
    case = Case(PLAIN, (5, 0, 7, 2, 9, 1, 3, 8))
    device = case.device(3, gather="threads")
    (new, active), local = case.outputs(), case.arrays(case.signature.local)
    rows = []

    def serve(stream):
        for piece in pages(case)[stream::3] * 2:
            row = device.pull(stream, piece, 0, local, new, active, case.params)
            rows.append(row)

    threads = [threading.Thread(target=serve, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 16
    assert device.cache_hits == 8
    theirs = case.pulled()
    assert_same((new, active, theirs[2]), theirs)
    closed(device)
