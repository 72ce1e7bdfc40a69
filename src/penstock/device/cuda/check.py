"""What the compiler makes of CUDA kernels, and whether a GPU could run it. No GPU is needed.

``python -m penstock.device.cuda.check MODULE:FUNCTION [CC ...] [--block THREADS]`` compiles all
kernels of the programs that a function lists (see :data:`Listed`) for some compute capabilities,
and prints what they use. ``ptxas`` turns PTX into machine code: it comes with CUDA's toolkit and
with the package ``nvidia-cuda-nvcc``. Without it there are no numbers, but it is known that
everything compiles.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from penstock.device.cuda.kernels import MOST_REGISTERS, REGISTERS, SHARED_BYTES, CudaKernels
from penstock.device.signature import ProgramSignature
from penstock.errors import OptionError

Capability = tuple[int, int]
#: A program's name, its signature, and values of its parameters.
Listed = tuple[str, ProgramSignature] | tuple[str, ProgramSignature, Mapping[str, Any]]

#: Compute capabilities that kernels are compiled for; toolkits from CUDA 13 on have none below.
CAPABILITIES: tuple[Capability, ...] = ((7, 5), (8, 0), (9, 0), (10, 0))


class Limits(NamedTuple):
    """What a block and its threads can have; shared memory is what needs no asking."""

    registers_per_thread: int
    registers_per_block: int
    shared_bytes: int


class Resources(NamedTuple):
    """What a kernel uses: registers of a thread, bytes that did not fit them, shared memory."""

    registers: int
    spill_bytes: int
    shared_bytes: int


class Row(NamedTuple):
    """A kernel of a program for a compute capability; no resources where there is no ptxas."""

    program: str
    kernel: str
    capability: Capability
    resources: Resources | None


def limits(capability: Capability) -> Limits:
    """The limits of a compute capability; those that are supported agree."""
    if capability < CAPABILITIES[0]:
        raise OptionError(
            f"expected a compute capability of 7.5 or more, got {_dotted(capability)}"
        )
    return Limits(MOST_REGISTERS, REGISTERS, SHARED_BYTES)


def find_ptxas() -> Path | None:
    """The assembler: in NVIDIA's packages for Python, whose compiler Numba uses, or on the PATH."""
    package = importlib.util.find_spec("nvidia")
    homes = [] if package is None else package.submodule_search_locations or []
    for home in homes:
        for path in sorted(Path(home).glob("cu*/bin/ptxas")):
            return path
    on_path = shutil.which("ptxas")
    return None if on_path is None else Path(on_path)


def resources(
    ptx: str, capability: Capability, ptxas: Path, max_registers: int | None = None
) -> Resources:
    """What the machine code of a kernel uses, if its threads may have only so many registers."""
    with TemporaryDirectory(prefix="penstock-") as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx, encoding="utf-8")
        arch = f"sm_{capability[0]}{capability[1]}"
        command = [str(ptxas), f"-arch={arch}", "-v", str(source), "-o", f"{source}.cubin"]
        if max_registers is not None:
            command.append(f"-maxrregcount={max_registers}")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        raise RuntimeError(f"{ptxas}: {arch}: {said.strip()[:400]}")
    return _read(said)


def _read(said: str) -> Resources:
    """The numbers in ptxas's report of one kernel."""

    def number(pattern: str) -> int:
        return sum(map(int, re.findall(pattern, said)))

    if "Used" not in said:
        raise RuntimeError(f"ptxas: expected a report of registers, got {said.strip()[:400]}")
    return Resources(
        number(r"Used (\d+) registers"),
        number(r"(\d+) bytes spill (?:stores|loads)"),
        number(r"(\d+) bytes smem"),
    )


def excess(used: Resources, capability: Capability, block: int) -> list[str]:
    """What a kernel uses beyond the limits; registers are given to warps in units of 8 a thread."""
    most = limits(capability)
    together = -(-used.registers // 8) * 8 * block
    checks = [
        ("registers a thread", used.registers, most.registers_per_thread),
        ("registers a block", together, most.registers_per_block),
        ("bytes of shared memory", used.shared_bytes, most.shared_bytes),
        ("spilled bytes", used.spill_bytes, 0),
    ]
    return [f"{got:,} {what} of {limit:,}" for what, got, limit in checks if got > limit]


def check_all(
    programs: Iterable[Listed],
    capabilities: Sequence[Capability] = CAPABILITIES,
    block: int = 256,
) -> Iterator[Row]:
    """Compile the kernels of programs, and see what they use. What the parameters' values are says
    whether they are whole numbers; those without are not.
    """
    ptxas = find_ptxas()
    with ThreadPoolExecutor() as pool:
        for name, signature, *params in programs:
            kernels = CudaKernels(signature, block)
            found: list[tuple[str, Capability, Future[Resources] | None]] = []
            for kernel in kernels.names:
                texts = kernels.ptx(kernel, capabilities, *params)
                for capability, ptx in zip(capabilities, texts, strict=True):
                    used = None
                    if ptxas is not None:
                        most = kernels.max_registers
                        used = pool.submit(resources, ptx, capability, ptxas, most)
                    found.append((kernel, capability, used))
            for kernel, capability, used in found:
                yield Row(name, kernel, capability, None if used is None else used.result())


def _dotted(capability: Capability) -> str:
    return f"{capability[0]}.{capability[1]}"


def _capability(text: str) -> Capability:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def main(given: Sequence[str] | None = None) -> int:
    """Print the table; 1 if something is beyond the limits."""
    parser = argparse.ArgumentParser(prog="penstock.device.cuda.check", description=__doc__)
    parser.add_argument("programs", metavar="MODULE:FUNCTION")
    parser.add_argument("capabilities", metavar="CC", nargs="*", type=_capability)
    parser.add_argument("--block", type=int, default=256)
    options = parser.parse_args(given)
    module, _, function = options.programs.partition(":")
    programs = getattr(importlib.import_module(module), function)()
    wrong = 0
    print(f"{'program':16} {'kernel':20} {'cc':>4} registers spills shared")
    for row in check_all(programs, options.capabilities or CAPABILITIES, options.block):
        used: Sequence[Any] = row.resources or ("?", "?", "?")
        beyond = excess(row.resources, row.capability, options.block) if row.resources else []
        cells = f"{used[0]:>9} {used[1]:>6} {used[2]:>6}"
        print(f"{row.program:16} {row.kernel:20} {_dotted(row.capability):>4} {cells}", *beyond)
        wrong += len(beyond)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
