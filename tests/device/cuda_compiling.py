"""Compiles kernels for GPUs that are not there, in a process without the simulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

CODE = """
import importlib, json, sys
from concurrent.futures import ThreadPoolExecutor
from numba import cuda
from penstock.device.cuda.check import CAPABILITIES, excess, find_ptxas, resources

ptxas, pool, found = find_ptxas(), ThreadPoolExecutor(), {}
for name, function, signature in importlib.import_module(sys.argv[1]).kernels():
    for capability in CAPABILITIES:
        ptx = cuda.compile_ptx(function, signature, cc=capability)[0]
        assert ptx.count(".entry") == 1, (name, capability)
        # Indices of both signs would make floating-point numbers.
        assert ".f64" not in ptx and ".f32" not in ptx, (name, capability)
        if ptxas and capability == CAPABILITIES[0]:  # those of others differ little
            found[name] = pool.submit(resources, ptx, capability, ptxas)
        else:
            found.setdefault(name)
for name, used in found.items():
    beyond = used and excess(used.result(), CAPABILITIES[0], int(sys.argv[2]))
    assert not beyond, (name, beyond)
print(json.dumps(list(found)))
"""


def compiled_kernels(module, threads):
    """The names of the kernels of a module: all compile for each compute capability; and
    for the first, where there is an assembler, blocks of so many threads find the registers and the
    memory they need.
    """
    if find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda, which compiles without a GPU, is not installed")
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    done = subprocess.run(
        [sys.executable, "-c", CODE, module, str(threads)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
