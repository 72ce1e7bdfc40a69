"""Every CUDA kernel, in Numba's simulator, gives what the reference device gives."""

from __future__ import annotations

import sys

import cuda_shapes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.device.cuda.kernels import CudaKernels
from penstock.device.cuda.text import COMPILE_ONLY
from penstock.device.reference import ReferenceKernels
from penstock.device.replication import cut_shards
from penstock.errors import OptionError
from penstock.program import Program
from penstock.stream.block import Block

FIRST, LOW, OTHERS = 7, 5, 20
VARIANTS = ("shards", "threads", "warps", "blocks", "messages")
ATOMIC = ("counts", "labels", "widths", "flows", "farthest")


@pytest.fixture(scope="module", autouse=True)
def quick_turns():
    """The simulator's threads wait for each other by looking all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-4)
    yield
    sys.setswitchinterval(before)


def values_of(dtype, size, rng):
    return rng.integers(0, 2 if dtype.kind == "b" else 9, size).astype(dtype)


class Load:
    """Lists of some lengths with values, on the host; what kernels make of them."""

    def __init__(self, program, lengths, seed=1, block=32, params=cuda_shapes.PARAMS):
        rng = np.random.default_rng(seed)
        self.signature = signature = cuda_shapes.signature(program, params)
        self.kernels = CudaKernels(signature, block)
        self.count = len(lengths)
        self.params = {"num_vertices": 40, "iteration": 2, "odd": 3.0, "all": 1.0}
        self.params |= {"moved": 0.5, **params}
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
        edges = int(offsets[-1])
        neighbours = rng.integers(0, OTHERS, edges).astype(np.uint32)
        dtypes, columns = signature.dtypes, cuda_shapes.COLUMNS
        edge_columns = [values_of(columns[each], edges, rng) for each in signature.columns]
        self.block = Block(FIRST, offsets, neighbours, tuple(edge_columns))
        self.gathered = tuple(values_of(dtypes[f], OTHERS, rng) for f in signature.gathered)
        self.local = tuple(values_of(dtypes[f], self.count, rng) for f in signature.local)
        self.sums = self.identities(max(self.count, 4))
        self.new = tuple(np.zeros(self.count, dtypes[f]) for f in signature.new)
        self.given = {
            "first": FIRST, "low": LOW, "count": self.count, "offsets": offsets,
            "neighbours": neighbours, "active": np.full(self.count, 9, np.uint8),
            "totals": np.zeros(1 + len(signature.program.totals)),
            "chosen": np.arange(self.count, dtype=np.uint32),
        }  # fmt: skip
        self.given |= {f"column{k}": each for k, each in enumerate(edge_columns)}
        for mark, names, arrays in (
            ("g", signature.gathered, self.gathered),
            ("l", signature.local, self.local),
            ("n", signature.new, self.new),
        ):
            self.given |= {f"{mark}_{f}": a for f, a in zip(names, arrays, strict=True)}
        self.given |= {f"p_{p}": self.params[p] for p in signature.params}
        self.given |= {f"s{k}": each for k, each in enumerate(self.sums)}

    def identities(self, size):
        program = self.signature.program
        pairs = zip(program.identities, program.accumulators, strict=True)
        return tuple(np.full(size, value, dtype) for value, dtype in pairs)

    @property
    def reference_params(self):
        return tuple(self.params[p] for p in self.signature.params)

    def launch(self, name, grid=2, shared_bytes=0, **more):
        given = self.given | more
        self.kernels.launch(name, grid, self.kernels.block, 0, shared_bytes, given)

    def expected_sums(self):
        sums = self.identities(self.count)
        ReferenceKernels(self.signature).accumulate(
            self.block, FIRST, FIRST + self.count, FIRST, FIRST, LOW, self.gathered, self.local,
            sums, self.reference_params,
        )  # fmt: skip
        return sums

    def gather(self, variant, **how):
        if variant == "shards":
            self.gather_shards(**how)
        elif variant == "messages":
            self.gather_messages()
        else:
            self.launch(f"gather_{variant}", **how)
        return tuple(each[: self.count] for each in self.sums)

    def gather_shards(self, cells=64, copies=None):
        size = self.sums[0].itemsize
        shards = cut_shards(self.block.offsets, cells * size, 1, size, copies)
        assert shards.cells <= cells
        self.launch(
            "gather_shards", len(shards.replicas), shards.cells * size, shards=shards.bounds,
            replicas=shards.replicas, targets=shards.targets,
        )  # fmt: skip
        return len(shards.replicas)

    def gather_messages(self):
        lengths = np.diff(self.block.offsets).astype(int)
        order = np.argsort(-lengths, kind="stable")
        slots, owners, bases = [0] * int(lengths.sum()), [], [0]
        for group in range(0, self.count, 32):
            lists = order[group : group + 32]
            for lane, i in enumerate(lists):
                for j in range(lengths[i]):
                    slots[int(self.block.offsets[i]) + j] = bases[-1] + 32 * j + lane
            bases.append(bases[-1] + 32 * max(lengths[lists]))
        for i, length in enumerate(lengths):
            owners += [i] * length
        named = {"slots": slots, "owners": owners, "order": order, "bases": bases}
        more = {name: np.array(each, np.uint32) for name, each in named.items()}
        messages = self.identities(bases[-1])
        more |= {f"m{k}": each for k, each in enumerate(messages)}
        self.launch("send", **more)
        self.launch("combine", **more)


def assert_same(ours, theirs):
    for one, two in zip(ours, theirs, strict=True):
        assert one.dtype == two.dtype
        tolerance = {"float32": 1e-5, "float64": 1e-12}.get(one.dtype.name, 0)
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)


def variants_of(name):
    return [each for each in VARIANTS if each != "shards" or name in ATOMIC]


LENGTHS = {
    "several": [3, 0, 40, 1],
    "one vertex": [33],
    "empty lists": [0, 0],
}
NAMES = tuple(cuda_shapes.PROGRAMS)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("name", NAMES)
def test_gathers(name, lengths):
    load = Load(name, LENGTHS[lengths])
    expected = load.expected_sums()
    for variant in variants_of(name):
        for each in load.sums:
            each[:] = 77
        assert_same(load.gather(variant), expected)


@pytest.mark.parametrize("name", ["labels", "mixed"])
def test_only_the_chosen_vertices_are_gathered(name):
    load = Load(name, [3, 0, 5, 1, 9, 2])
    expected = load.expected_sums()
    chosen = np.array([4, 1, 2], np.uint32)
    for variant in ("threads", "warps", "blocks"):
        for each in load.sums:
            each[:] = 77
        ours = load.gather(variant, chosen=chosen, grid=1)
        assert_same([each[chosen] for each in ours], [each[chosen] for each in expected])
        assert all(each[i] == 77 for each in ours for i in (0, 3, 5))


@pytest.mark.parametrize("block", [32, 64])
@pytest.mark.parametrize("name", ["mixed", "counts"])
def test_blocks_of_several_warps(name, block):
    load = Load(name, [3, 70, 5], block=block)
    for variant in variants_of(name):
        assert_same(load.gather(variant), load.expected_sums())


@pytest.mark.parametrize("copies", [1, 2, 32])
@pytest.mark.parametrize("name", ATOMIC)
def test_replicas(name, copies):
    load = Load(name, [3, 0, 8, 1, 0, 2])
    assert load.gather_shards(cells=64, copies=copies) == -(-6 // min(64 // copies, 6))
    assert_same([each[:6] for each in load.sums], load.expected_sums())


@pytest.mark.parametrize("name", NAMES)
def test_messages_of_several_groups(name):
    load = Load(name, np.random.default_rng(3).integers(0, 9, 75))
    assert_same(load.gather("messages"), load.expected_sums())


@settings(max_examples=4, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    seed=st.integers(0, 1000),
)
def test_any_lists(name, lengths, seed):
    load = Load(name, lengths, seed)
    for variant in variants_of(name):
        assert_same(load.gather(variant), load.expected_sums())


@pytest.mark.parametrize(
    ("name", "length"), [*((name, 200) for name in NAMES), ("mixed", 0), ("mixed", 1)]
)
def test_a_list_for_the_whole_grid(name, length):
    load = Load(name, [length])
    load.launch("gather_list", grid=3)
    load.launch("fold", grid=1, count=3)
    assert_same([each[:1] for each in load.sums], load.expected_sums())


@pytest.mark.parametrize("name", NAMES)
def test_apply(name):
    load = Load(name, [2] * 70)
    load.gather("threads")
    check_apply(load)


def check_apply(load):
    theirs = tuple(np.zeros_like(each) for each in load.new)
    active = np.full(FIRST + load.count, 9, np.uint8)
    row = ReferenceKernels(load.signature).finish(
        FIRST, FIRST + load.count, FIRST, FIRST, load.local, load.sums, theirs, active,
        load.reference_params,
    )  # fmt: skip
    load.launch("apply")
    assert_same(load.new, theirs)
    np.testing.assert_array_equal(load.given["active"], active[FIRST:])
    np.testing.assert_allclose(load.given["totals"], row, rtol=1e-5)


@pytest.mark.parametrize("width", [1, 8, 32])
@pytest.mark.parametrize("name", ATOMIC)
def test_push(name, width):
    """Along the lists of some vertices; the reference's ids are those of all arrays."""
    load = Load(name, [3, 0, 40, 1, 6])
    signature, chosen = load.signature, np.array([0, 2, 3], np.uint32)
    rng = np.random.default_rng(2)
    src = tuple(values_of(signature.dtypes[f], load.count, rng) for f in signature.gathered)
    dst = tuple(values_of(signature.dtypes[f], OTHERS, rng) for f in signature.of_dst)
    theirs, their_touched = load.identities(OTHERS), np.zeros(OTHERS, np.uint8)
    everyone = tuple(np.concatenate([np.zeros(FIRST, each.dtype), each]) for each in src)
    ReferenceKernels(signature).push(
        load.block, chosen + FIRST, np.zeros(99, np.uint32), everyone, dst, theirs, their_touched,
        load.reference_params,
    )  # fmt: skip
    ours, touched = load.identities(OTHERS), np.zeros(OTHERS, np.uint8)
    pages = np.array([0, 6, 7, 15, 100], np.uint32)
    more = {"touched": touched, "page_firsts": pages, "next_pages": np.zeros(5, np.uint8)}
    more |= {f"f_{f}": each for f, each in zip(signature.gathered, src, strict=True)}
    more |= {f"d_{f}": each for f, each in zip(signature.of_dst, dst, strict=True)}
    load.launch("push", chosen=chosen, width=width, s0=ours[0], **more)
    assert_same(ours, theirs)
    np.testing.assert_array_equal(touched, their_touched)
    reached = np.searchsorted(pages, np.flatnonzero(touched) + LOW, side="right") - 1
    assert np.flatnonzero(more["next_pages"]).tolist() == sorted(set(reached.tolist()))


@pytest.mark.parametrize(("u", "page"), [(0, 0), (1, 1), (2, 2), (9, 2), (10, 3), (19, 3)])
def test_push_marks_the_page_of_what_it_reaches(u, page):
    """Pages begin with vertices 0, 6, 7, 15 and 100; neighbour u is vertex u + 5."""
    load = Load("labels", [1])
    pages = np.array([0, 6, 7, 15, 100], np.uint32)
    marks, reached = np.zeros(5, np.uint8), np.array([u], np.uint32)
    load.launch(
        "push", 1, neighbours=reached, width=1, f_label=np.zeros(1, np.uint32), page_firsts=pages,
        next_pages=marks, touched=np.zeros(OTHERS, np.uint8), s0=np.zeros(OTHERS, np.uint32),
    )  # fmt: skip
    assert np.flatnonzero(marks).tolist() == [page]


def test_push_knows_the_ids_of_both_ends():
    def gather(src, edge, dst):
        return 100 * src.vid + dst.vid

    program = Program(
        state={"x": np.int64}, init=lambda vertex: 0, gather=gather, sum="max", identity=0,
        apply=lambda old, a: a, accumulator=np.int64, name="ends",
    )  # fmt: skip
    load = Load(program, [2, 1])
    sums = np.zeros(OTHERS, np.int64)
    load.launch(
        "push", s0=sums, width=1, touched=np.zeros(OTHERS, np.uint8), next_pages=np.zeros(1, "u1"),
        page_firsts=np.zeros(1, np.uint32),
    )  # fmt: skip
    expected = np.zeros(OTHERS, np.int64)
    for vid, begin, end in ((FIRST, 0, 2), (FIRST + 1, 2, 3)):
        for u in load.block.neighbours[begin:end].tolist():
            expected[u] = 100 * vid + u + LOW
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("name", NAMES)
def test_sums_of_another_device(name):
    load = Load(name, [5] * 6)
    load.gather("threads")
    ours = [each[:6].copy() for each in load.sums]
    touched, others = np.zeros(6, np.uint8), np.array([1, 0, 0, 1, 1, 0], np.uint8)
    more = {f"o{k}": each[::-1].copy() for k, each in enumerate(ours)}
    load.launch("merge_sums", touched=touched, other_touched=others, **more)
    for i in range(6):
        pair = tuple(np.array([each[i], each[5 - i]]) for each in ours)
        if others[i]:
            ReferenceKernels(load.signature).merge(pair, 0, 2)
        assert_same([each[i : i + 1] for each in load.sums], [each[:1] for each in pair])
    np.testing.assert_array_equal(touched, others)
    load.launch("reset", touched=touched)
    assert_same([each[:6] for each in load.sums], load.identities(6))
    assert not touched.any()


def test_which_kernels_a_program_has():
    for name in NAMES:
        kernels = CudaKernels(cuda_shapes.signature(name), 64)
        assert kernels.can_shard == (name in ATOMIC)
        assert {"gather_shards", "push"} & set(kernels.names) == (
            {"gather_shards", "push"} if kernels.can_shard else set()
        )


def test_arguments_are_what_a_program_needs():
    labels = CudaKernels(cuda_shapes.signature("labels"), 64)
    assert labels.arguments("gather_threads") == (
        "offsets", "neighbours", "g_label", "chosen", "s0",
    )  # fmt: skip
    assert labels.arguments("send") == ("neighbours", "g_label", "slots", "m0")
    mixed = CudaKernels(cuda_shapes.signature("mixed"), 64)
    assert "owners" in mixed.arguments("send")
    assert mixed.arguments("fold") == ("count", "s0", "s1")
    for name in NAMES:
        kernels = CudaKernels(cuda_shapes.signature(name), 64)
        for each in kernels.names:
            assert set(kernels.arguments(each)) <= set(kernels.dtypes())


def test_a_kernel_is_compiled_once_whatever_kind_its_numbers_have():
    """Python's and NumPy's numbers of any width."""
    load = Load("mixed", [2, 3])
    expected = load.expected_sums()
    load.given |= {"first": np.uint32(FIRST), "low": np.int16(LOW), "p_reach": np.uint8(3)}
    assert_same(load.gather("threads"), expected)


def test_names_of_the_users_that_the_kernels_use_too():
    """Fields, parameters, totals and variables called as things are in the kernels' own text."""

    def gather(u, i, x, s0):
        k = u.a
        count = k + x.first
        return count * s0.chosen + x.s0

    def apply(cells, a, t):
        found = cells.first + t.stride
        return found, cells.a, cells.s0 + a, cells.u

    state = dict.fromkeys(("first", "a", "s0", "u"), np.int64)
    program = Program(
        state=state, init=lambda vertex: (1, 2, 3, 4), gather=gather, sum="add", identity=0,
        apply=apply, accumulator=np.int64, activate=lambda i, x: i.u != x.s0, name="names",
        totals={"t": lambda u, i: u.s0, "found": lambda u, i: i.first},
    )  # fmt: skip
    load = Load(program, [3, 0, 2], params={"chosen": 3, "stride": 2})
    for variant in VARIANTS:
        assert_same(load.gather(variant), load.expected_sums())
    check_apply(load)


def test_misuse():
    load = Load("mixed", [2])
    with pytest.raises(ValueError, match="2 blocks of 64 threads, where blocks have 32"):
        load.kernels.launch("reset", 2, 64, 0, 0, load.given)
    with pytest.raises(ValueError, match="fold: got 2 blocks"):
        load.launch("fold", grid=2)
    for name in COMPILE_ONLY:
        with pytest.raises(ValueError, match="only compiled"):
            load.launch(name)


def test_blocks_that_need_too_much_shared_memory():
    program = Program(
        state={"x": np.float64}, init=lambda vertex: 0.0, gather=lambda src, edge, dst: src.x,
        sum="add", identity=0.0, apply=lambda old, a: a, name="wide",
        totals={f"t{k}": lambda new, old: new.x for k in range(7)},
    )  # fmt: skip
    signature = cuda_shapes.signature_of(program, {}, {})
    CudaKernels(signature, 512)
    with pytest.raises(OptionError, match="wide: 1024 threads need 65,536 bytes"):
        CudaKernels(signature, 1024)
