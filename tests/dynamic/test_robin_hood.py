"""The Robin Hood table, against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.dynamic import robin_hood
from penstock.dynamic.robin_hood import SPARE_SLOTS, RobinHoodTable
from penstock.dynamic.robin_hood_kernels import MOST_LOAD, MOST_MARK, Shape, hash_of, home_of
from penstock.types import NO_VERTEX

KEYS = 1 << 63
FIRST = RobinHoodTable().capacity


def insert(table, model, keys):
    """What a caller does: find, then give the others numbers."""
    keys = np.array(keys, np.uint64)
    out = np.empty(len(keys), np.uint32)
    missing = table.find(keys, out)
    assert missing == sum(int(key) not in model for key in keys.tolist())
    new = table.insert(keys, out)
    fresh = [key for key in dict.fromkeys(keys.tolist()) if key not in model]
    assert new.tolist() == fresh
    for key in fresh:
        model[key] = len(model)
    assert out.tolist() == [model[key] for key in keys.tolist()]


def check(table, model, strangers=()):
    strangers = [key for key in strangers if key not in model]
    keys = np.array([*model, *strangers], np.uint64)
    out = np.empty(len(keys), np.uint32)
    assert table.find(keys, out) == len(strangers)
    assert out.tolist() == [*model.values(), *[NO_VERTEX] * len(strangers)]
    assert len(table) == len(model)
    assert 8 * len(table) <= MOST_LOAD * table.capacity
    check_places(table)


def check_places(table):
    """Every entry is where the module says, by arithmetic on whole numbers."""
    parts, bits, *_ = map(int, table._shape)
    marks, words = (array.tolist() for array in table._slots)
    before = -1
    for at, (mark, word) in enumerate(zip(marks, words, strict=True)):
        if not mark:
            continue
        home = at + 1 - mark
        assert 0 <= home < table.capacity
        if mark > 1:
            assert marks[at - 1] > 0
        hashed = hash_at(table, at)
        assert before < hashed
        before = hashed
        product = hashed * (parts << bits)
        assert product >> 63 == home
        assert word >> bits + 3 == (product % (1 << 63)) >> bits + 2
    assert marks[-1] == 0


def hash_at(table, at):
    """The only hash that the entry of a slot can have: by trying what is near."""
    parts, bits, *_ = map(int, table._shape)
    home = at + 1 - int(table._slots.marks[at])
    tag = int(table._slots.words[at]) >> bits + 3
    least = ((home << 63) | tag << bits + 2) // (parts << bits)
    fitting = [
        each
        for each in range(least - 1, least + 3)
        if each * (parts << bits) >> bits + 2 == home << 61 - bits | tag
    ]
    assert len(fitting) == 1
    return fitting[0]


def hashed(keys, shape=None):
    """The hashes of keys, by Python's numbers."""
    first, second = map(int, (shape or RobinHoodTable()._shape)[2:])
    found = []
    for key in keys:
        mixed = key * first % KEYS
        found.append((mixed ^ mixed >> 32) * second % KEYS)
    return found


def key_of(mixed, shape=None):
    """The key that has a hash."""
    first, second = map(int, (shape or RobinHoodTable()._shape)[2:])
    mixed = mixed * pow(second, -1, KEYS) % KEYS
    return (mixed ^ mixed >> 32) * pow(first, -1, KEYS) % KEYS


edges = st.sampled_from([0, 1, KEYS - 1, KEYS - 2, KEYS // 2, (1 << 32) - 1, 1 << 32])
steps = st.builds(lambda k, shift: (k << shift) % KEYS, st.integers(0, 300), st.integers(0, 62))
#: Keys whose hashes follow each other: they have the same home, or neighbouring ones.
together = st.builds(
    lambda begin, k: key_of((begin + k) % KEYS),
    st.sampled_from([0, KEYS - 40, KEYS // 3, KEYS // 4 - 5]),
    st.integers(0, 80),
)
any_key = st.one_of(edges, steps, together, st.integers(0, 60), st.integers(0, KEYS - 1))


@given(st.lists(st.lists(any_key, max_size=60), max_size=12))
def test_behaves_like_a_dictionary(batches):
    table, model = RobinHoodTable(), {}
    for keys in batches:
        insert(table, model, keys)
        check(table, model, [*range(5), KEYS - 1, key_of(0), key_of(KEYS - 1)])


@settings(max_examples=30, deadline=None)
@given(st.lists(any_key, max_size=700, unique=True), st.integers(1, 9), st.integers(0, 2**32))
def test_sizes_of_every_kind(keys, steps, seed):
    """From one size to another that is much larger, with what is hard to place in it."""
    table, model = RobinHoodTable(), {}
    insert(table, model, keys)
    for k in range(steps):
        table.reserve(table._shape.next().most if k % 3 else 2 * table.capacity)
        check(table, model)
        insert(table, model, np.random.default_rng(seed + k).integers(0, KEYS, 50, np.uint64))
        check(table, model, range(5))


def test_a_hash_has_one_home_and_one_tag():
    """At the limits between homes, for every kind of size, there and back."""
    for shape in (Shape(np.uint64(p), np.uint64(b), *RobinHoodTable()._shape[2:])
                  for p in (4, 5, 6, 7) for b in (8, 9, 20, 30)):  # fmt: skip
        slots = shape.slots
        for home in (0, 1, 2, slots // 3, slots // 2, slots - 2, slots - 1):
            first = -(-home * KEYS // slots)
            after = -(-(home + 1) * KEYS // slots)
            assert after - first <= 1 << 61 - int(shape.bits)
            for mixed in (first, first + 1, (first + after) // 2, after - 1):
                found, tag = home_of(np.uint64(mixed << 1), shape)
                assert found == home
                again = hash_of(np.uint64(home), tag | np.uint64(1), shape)
                assert int(again) == mixed << 1


@pytest.mark.parametrize(
    "keys",
    [
        np.arange(40_000),
        np.arange(40_000) << 32,
        np.arange(40_000) << 47,
        np.arange(40_000) * 1024,
        KEYS - 1 - np.arange(40_000, dtype=np.uint64),
        np.random.default_rng(1).integers(0, 2**63, 40_000),
    ],
    ids=["dense", "high bits", "highest bits", "steps", "last", "random"],
)
def test_grows_and_keeps_distances_short(keys):
    table, model = RobinHoodTable(), {}
    for part in np.array_split(keys.astype(np.uint64), 7):
        insert(table, model, part)
    check(table, model)
    found = table.probe_distances()
    assert found.entries == len(model)
    assert found.average < 6
    assert found.average == found.worst_average
    assert found.most < 60


def test_takes_few_bytes_at_every_size():
    """One key at a time: also just before the table grows, and right after."""
    table, sizes = RobinHoodTable(), []
    keys = np.random.default_rng(4).integers(0, KEYS, 60_000, np.uint64)
    for begin in range(0, len(keys), 100):
        table.insert(keys[begin : begin + 100], np.full(100, NO_VERTEX, np.uint32))
        sizes.append(table.nbytes / len(table))
    large = sizes[len(sizes) // 4 :]
    assert max(large) < 13.3
    assert sum(large) / len(large) < 12
    assert len({round(size, 1) for size in large}) > 10


@pytest.mark.parametrize("count", [MOST_MARK - 1, MOST_MARK, MOST_MARK + 1, 400])
@pytest.mark.parametrize("home", [0, 77, FIRST - 1])
def test_keys_that_all_belong_to_one_slot(home, count):
    """Those that fit distances stay; of more, the multipliers change, and the table stays small."""
    first = -(-home * KEYS // FIRST)
    keys = [key_of(first + 3 * k) for k in range(count)]
    assert len({mixed * FIRST >> 63 for mixed in hashed(keys)}) == 1
    table, model = RobinHoodTable(), {}
    before = table._shape
    insert(table, model, keys[: count // 2])
    insert(table, model, keys[::-1])
    assert (table._shape[2:] == before[2:]) == (count <= MOST_MARK)
    assert table.capacity == FIRST
    check(table, model, range(50))


def test_distances_at_their_limit_survive_growth():
    """Entries as far from home as they are inserted, through all sizes that memory allows here."""
    table, model = RobinHoodTable(), {}
    for at in (0, KEYS // 2, KEYS - MOST_MARK):
        insert(table, model, [key_of(at + k) for k in range(MOST_MARK)])
    for _ in range(30):
        table.reserve(table._shape.next().most)
    check(table, model)
    assert table.probe_distances().most >= MOST_MARK - 1
    # One more of the same home is one too many.
    more = key_of(KEYS // 2 + MOST_MARK)
    insert(table, model, [more])
    check(table, model)


def test_growing_takes_no_second_table(monkeypatch):
    made = []
    whole = robin_hood.Region
    monkeypatch.setattr(robin_hood, "Region", lambda dtype: made.append(dtype) or whole(dtype))
    table, model = RobinHoodTable(), {}
    insert(table, model, np.arange(30_000) * 7)
    assert len(made) == 2
    assert table._marks.array[table.capacity + SPARE_SLOTS :].max(initial=0) == 0


def test_a_range_of_keys_is_found():
    table, model = RobinHoodTable(), {}
    insert(table, model, range(0, 5000, 2))
    keys = np.arange(5000, dtype=np.uint64)
    out = np.full(5000, 7, np.uint32)
    assert table.find(keys, out, 100, 200) == 50
    assert (out[:100] == 7).all()
    assert (out[200:] == 7).all()
    assert out[100:200].tolist() == [model.get(key, NO_VERTEX) for key in range(100, 200)]
