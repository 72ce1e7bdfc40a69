"""A small graph, the programs on it, and devices to compare; kernels run in the simulator."""

from __future__ import annotations

import device_programs as programs
import numpy as np
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

from penstock.device.cuda.device import CudaDevice
from penstock.device.reference import ReferenceKernels
from penstock.device.signature import signature_of
from penstock.device.spec import Device
from penstock.program import Program
from penstock.stream.block import Block
from penstock.stream.lists import Piece

#: Nothing here makes threads wait for each other, for which the simulator takes its time.
PLAIN = Program(
    state={"x": np.int64},
    init=lambda vertex: 1,
    gather=lambda src, edge, dst: src.x,
    sum="add",
    identity=0,
    apply=lambda old, a: a % 1000,
    accumulator=np.int64,
    name="plain",
)
#: Lists of all kinds for ``BUCKETS`` as the tests set them: none, one edge, some, many.
LENGTHS = (3, 1, 0, 40, 6, 2)
#: As if each page began with such a vertex.
PAGE_FIRSTS = np.array([0, 2, 3, 3, 5], np.uint32)


class Case:
    """A program on a graph of ``lengths``, with values that somebody has made."""

    def __init__(self, program, lengths=LENGTHS, seed=0):
        self.program = getattr(programs, program) if isinstance(program, str) else program
        rng = np.random.default_rng(seed)
        self.n = n = len(lengths)
        offsets = np.r_[0, np.cumsum(lengths)].astype(np.uint32)
        params = {"source": 0, "reach": 3, "decay": 0.5}
        dtype = np.dtype(np.uint8)
        self.signature = signature_of(self.program, {"weight": dtype}, params, "weight")
        weights = rng.integers(1, 9, offsets[-1]).astype(dtype)
        neighbours = rng.integers(0, n, offsets[-1]).astype(np.uint32)
        self.block = Block(0, offsets, neighbours, (weights,) * len(self.signature.columns))
        values = {**params, "num_vertices": n, "iteration": 1, "odd": 0.5, "moved": 1.5}
        self.params = tuple(values[name] for name in self.signature.params)
        self.fields = {
            field: rng.integers(0, 40, n).astype(each)
            for field, each in self.signature.dtypes.items()
        }
        self.reference = ReferenceKernels(self.signature)

    def arrays(self, names):
        return tuple(self.fields[name] for name in names)

    @property
    def gathered(self):
        return self.arrays(self.signature.gathered)

    def outputs(self):
        new = tuple(np.zeros(self.n, self.signature.dtypes[name]) for name in self.signature.new)
        return new, np.full(self.n, 7, np.uint8)

    def piece(self, begin=0, end=None, page=0):
        return Piece(page, self.block, begin, self.n if end is None else end)

    def pulled(self):
        """What a pull gives: new values, active flags, what the kernel returns."""
        new, active = self.outputs()
        row = self.reference.pull(
            self.block, 0, self.n, 0, 0, self.gathered, self.arrays(self.signature.local), new,
            active, self.params,
        )  # fmt: skip
        return new, active, row

    def sums(self, had=3):
        return tuple(np.full(self.n, had, dtype) for dtype in self.program.accumulators)

    def device(self, streams=2, in_place=False, firsts=PAGE_FIRSTS, **options):
        """A device that holds the values."""
        spec = Device(kind="cuda", **{"block": 32, **options})
        made = CudaDevice(spec, self.signature, self.n, firsts, streams, in_place)
        _soil(made._streams.memory)
        _check_types(
            made._streams.kernels, dict(zip(self.signature.params, self.params, strict=True))
        )
        try:
            made.hold(0, self.gathered, None)
        except BaseException:
            made.close()
            assert made.held_names == []
            raise
        return made

    def pull(self, device, pieces=None, stream=0):
        """The same of a device, piece by piece."""
        new, active = self.outputs()
        local = self.arrays(self.signature.local)
        rows = [
            device.pull(stream, piece, 0, local, new, active, self.params)
            for piece in pieces or [self.piece()]
        ]
        return new, active, tuple(map(sum, zip(*rows, strict=True)))


def _soil(memory):
    """New memory holds what somebody left there."""
    allocate = memory.array

    def array(holder, count, dtype):
        made = allocate(holder, count, dtype)
        if made.nbytes < 1 << 20:
            made.view(np.uint8)[:] = 0xA5
        return made

    memory.array = array


def _check_types(kernels, params):
    """The simulator takes anything; a compiled kernel takes what it was compiled for."""
    launch, known = kernels.launch, kernels.dtypes(params)

    def checked(name, grid, block, stream, shared_bytes, given):
        for each in kernels.arguments(name):
            assert isinstance(given[each], FakeCUDAArray) == known[each].is_array, (name, each)
            if known[each].is_array:
                assert given[each].dtype == known[each].dtype, (name, each)
                assert given[each].ndim == 1
        launch(name, grid, block, stream, shared_bytes, given)

    kernels.launch = checked


def assert_same(ours, theirs):
    """New values, flags and rows are alike, but for the order of floating-point sums."""
    for one, two in zip(ours[0], theirs[0], strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_allclose(one, two, rtol=1e-6 if one.dtype == np.float32 else 1e-9)
    np.testing.assert_array_equal(ours[1], theirs[1])
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-9)


def empty(piece):
    """A piece whose lists the device has."""
    return piece._replace(block=None)


def closed(device):
    """Close a device; nothing is left."""
    device.close()
    assert device.held_names == []
    assert (device.used_bytes, device.pinned_bytes, device.held_bytes) == (0, 0, 0)
