"""Kernels as the real compiler sees them: PTX, and machine code where ptxas is at hand.

Each part runs in a process of its own, without the simulator. Every kernel is compiled for every
compute capability, every program of these tests for one, and every program of the package for the
lowest and the highest. Toolkits from CUDA 13 on have no 7.0.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import built_in
import cuda_shapes
import numpy as np
import pytest
from device_programs import plain_program

from penstock.device.cuda import check as cuda_check
from penstock.device.cuda.check import Resources, excess, limits
from penstock.device.cuda.kernels import CudaKernels
from penstock.device.signature import signature_of
from penstock.errors import OptionError, ProgramError

HOME = Path(__file__).parent
BLOCK = 256
PROGRAMS = {
    (7, 5): ("counts", "bits"),
    (8, 0): ("labels", "mixed"),
    (9, 0): ("widths", "short"),
    (10, 0): ("flows", "farthest"),
}
#: Programs of whole numbers.
WHOLE = ("labels", "bits", "short", "farthest")
needs_compiler = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="PTX needs numba-cuda[cu13], which is not installed",
)


def elsewhere(call: str):
    """What a call of a function of this file gives in another process."""
    code = f"import json, {Path(__file__).stem} as here; print(json.dumps(here.{call}))"
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    env["PYTHONPATH"] = os.pathsep.join([str(HOME), *filter(None, [env.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# In the other process


def table(names, capability):
    """What check_all finds, and of each text: what it is for, how many kernels, any floats."""
    said, compiled = [], CudaKernels.ptx

    def noted(*given):
        [ptx] = texts = compiled(*given)
        target, floats = re.search(r"^\.target (\w+)", ptx, re.M), re.search(r"\.f(32|64)", ptx)
        said.append((target[1], ptx.count(".visible .entry"), floats is not None))
        return texts

    CudaKernels.ptx = noted
    rows = list(cuda_check.check_all(cuda_shapes.shapes(names), [tuple(capability)], BLOCK))
    return [[*row, *each] for row, each in zip(rows, said, strict=True)]


def chance(src, edge, dst):
    factor = 2.0
    return src.x * factor * np.random.random()


def text(src, edge, dst):
    return "none"


def pair(old, a):
    value = a
    return value, value


def complaints():
    """What is said about programs that cannot be compiled, or not for a GPU."""
    found = []
    for changed in ({"gather": chance}, {"gather": text}, {"apply": pair}):
        signature = signature_of(plain_program(name="wrong", **changed), {}, {})
        name = "apply" if "apply" in changed else "gather_warps"
        try:
            CudaKernels(signature, BLOCK).ptx(name, [(8, 0)])
        except ProgramError as error:
            found.append(str(error))
    return found


def same():
    """Whether code made for several capabilities is what Numba makes for each."""
    from numba import cuda

    kernels = CudaKernels(cuda_shapes.signature("mixed"), BLOCK)
    texts = kernels.ptx("apply", cuda_check.CAPABILITIES, cuda_shapes.PARAMS)
    function, types = kernels.function("apply"), kernels.argument_types("apply", cuda_shapes.PARAMS)
    alone = [cuda.compile_ptx(function, types, cc=cc)[0] for cc in cuda_check.CAPABILITIES]
    return [bare(one) == bare(two) for one, two in zip(texts, alone, strict=True)]


def bare(ptx):
    """Without the numbers that Numba gives to what it has compiled."""
    return re.sub(r"_ZN\w+|_smem_\d+|//.*", "", ptx)


def built_ins():
    """What check_all finds for every program of the package, and what is beyond the limits."""
    ends = cuda_check.CAPABILITIES[:: len(cuda_check.CAPABILITIES) - 1]
    rows = list(cuda_check.check_all(built_in.shapes(), ends, BLOCK))
    wrong = [
        (*row, found)
        for row in rows
        if row.resources is not None and (found := excess(row.resources, row.capability, BLOCK))
    ]
    return [[row.program for row in rows], wrong, rows[0].resources is not None]


def ready():
    """Whether kernels can be made ready for a GPU that is not there, and kept on disk."""
    kernels = CudaKernels(cuda_shapes.signature("labels"), 1024)
    made = kernels._kernel("apply")
    return [type(made._cache).__name__, made.targetoptions["max_registers"]]


# Here


@needs_compiler
@pytest.mark.parametrize("capability", PROGRAMS)
def test_kernels_compile_and_fit(capability):
    rows = elsewhere(f"table({PROGRAMS[capability]}, {capability})")
    kernels = {
        name: CudaKernels(cuda_shapes.signature(name), BLOCK) for name in PROGRAMS[capability]
    }
    assert len(kernels[PROGRAMS[capability][0]].names) == 13
    assert [row[:2] for row in rows] == [[n, each] for n in kernels for each in kernels[n].names]
    for name, kernel, _, used, target, entries, has_floats in rows:
        assert (target, entries) == ("sm_{}{}".format(*capability), 1)
        # Indices of both signs together would be floating-point numbers.
        assert not (has_floats and name in WHOLE and kernel != "apply"), (name, kernel)
        if used is not None:
            assert excess(Resources(*used), capability, BLOCK) == [], (name, kernel)
            assert used[2] == kernels[name].shared_bytes(kernel)
    if rows[0][3] is None:
        pytest.skip("no ptxas: PTX is compiled, but what it uses is not known")


@needs_compiler
def test_what_is_made_for_several_capabilities_is_what_is_made_for_each():
    assert elsewhere("same()") == [True] * 4


@needs_compiler
def test_every_program_of_the_package_compiles():
    programs, wrong, assembled = elsewhere("built_ins()")
    assert list(dict.fromkeys(programs)) == list(built_in.ALL)
    assert len(programs) >= 2 * 11 * len(built_in.ALL)  # kernels of each, at least
    assert wrong == []
    if not assembled:
        pytest.skip("no ptxas: PTX is compiled, but what it uses is not known")


def test_all_programs_are_compiled():
    assert sorted(sum(PROGRAMS.values(), ())) == sorted(cuda_shapes.PROGRAMS)
    assert tuple(PROGRAMS) == cuda_check.CAPABILITIES


@needs_compiler
def test_complaints_name_the_users_line():
    only_cpu, no_number, too_many = elsewhere("complaints()")
    first = chance.__code__.co_firstlineno
    assert only_cpu.startswith(f"{__file__}:{first + 2}: gather (chance): ")
    assert "this device's compiler says: " in only_cpu
    assert "a number is wanted" in no_number
    assert no_number.startswith(f"{__file__}:{text.__code__.co_firstlineno}: gather (text): ")
    assert "it returns 2 values, where the state (x) has 1" in too_many
    for said in (only_cpu, no_number, too_many):
        assert len(said) < 500
        assert "\n" not in said


@needs_compiler
def test_kernels_are_kept_on_disk_and_leave_room_for_all_threads():
    assert elsewhere("ready()") == ["CUDACache", 64]


def test_limits():
    assert limits((8, 0)) == (255, 65536, 49152)
    with pytest.raises(OptionError, match=r"7\.5 or more, got 7\.0"):
        limits((7, 0))


def test_excess():
    assert excess(Resources(255, 0, 49152), (7, 5), 256) == []
    assert excess(Resources(72, 8, 0), (8, 0), 1024) == [
        "73,728 registers a block of 65,536", "8 spilled bytes of 0",
    ]  # fmt: skip
    assert excess(Resources(256, 0, 49153), (9, 0), 32) == [
        "256 registers a thread of 255", "49,153 bytes of shared memory of 49,152",
    ]  # fmt: skip


def test_what_ptxas_says():
    said = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z5apply' for 'sm_80'
ptxas info    : Function properties for _Z5apply
    8 bytes stack frame, 12 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers, 2048 bytes smem, 400 bytes cmem[0]
"""
    assert cuda_check._read(said) == Resources(72, 16, 2048)
    with pytest.raises(RuntimeError, match="expected a report"):
        cuda_check._read("nothing")


def test_the_table(monkeypatch, capsys):
    rows = [
        cuda_check.Row("a", "apply", (7, 5), Resources(20, 0, 64)),
        cuda_check.Row("a", "fold", (10, 0), None),
    ]
    monkeypatch.setattr(cuda_check, "check_all", lambda *given: rows)
    assert cuda_check.main(["cuda_shapes:shapes", "8.0"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[1].split() == ["a", "apply", "7.5", "20", "0", "64"]
    assert lines[2].split() == ["a", "fold", "10.0", "?", "?", "?"]
    rows.append(cuda_check.Row("a", "push", (8, 0), Resources(300, 0, 0)))
    assert cuda_check.main(["cuda_shapes:shapes", "8.0"]) == 1
