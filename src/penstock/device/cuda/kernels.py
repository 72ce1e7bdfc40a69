"""CUDA: a program's kernels, compiled by Numba and launched by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np

from penstock.device import template
from penstock.device.complaints import explain
from penstock.device.cuda.memory import numba_cuda, simulated
from penstock.device.cuda.text import (
    COMPILE_ONLY,
    Argument,
    arguments,
    has_atomic_sum,
    kernel_texts,
    module_text,
)
from penstock.device.generated import cache_folder, module_of
from penstock.device.signature import ProgramSignature
from penstock.errors import OptionError, ProgramError

#: What every GPU has for a block: bytes of shared memory, and registers.
SHARED_BYTES = 48 * 1024
REGISTERS = 64 * 1024
#: Registers that a thread can have.
MOST_REGISTERS = 255


class CudaKernels:
    """The kernels of one program, for blocks of so many threads (a power of two from 32 to 1024).

    ``names`` are those that the program has: sums that are not atomic have neither shards nor push.
    """

    def __init__(self, signature: ProgramSignature, block: int) -> None:
        self.signature = signature
        self.block = block
        self._texts = kernel_texts(signature, block)
        self.names = tuple(self._texts)
        most = max(each.shared_bytes for each in self._texts.values())
        if most > SHARED_BYTES:
            raise OptionError(
                f"devices: block: {signature.program.name}: {block} threads need {most:,} bytes of "
                f"shared memory, a block has {SHARED_BYTES:,}; use smaller blocks"
            )
        self._compiled: dict[str, Any] = {}
        self._turn = Lock()

    @property
    def can_shard(self) -> bool:
        """Whether sums can be made by atomic operations: gather_shards and push are there."""
        return has_atomic_sum(self.signature)

    def arguments(self, name: str) -> tuple[str, ...]:
        """What a kernel is to be given."""
        return self._texts[name].arguments

    def shared_bytes(self, name: str) -> int:
        """Shared memory that a block has without asking; gather_shards asks at the launch."""
        return self._texts[name].shared_bytes

    def dtypes(self, params: Mapping[str, Any] | None = None) -> dict[str, Argument]:
        """What each argument is, of all kernels; ``params`` are values of parameters."""
        return arguments(self.signature, params)

    def function(self, name: str) -> Any:
        """A kernel as Python has it."""
        return getattr(self._module, name)

    def argument_types(self, name: str, params: Mapping[str, Any] | None = None) -> Any:
        """The compiler's types of a kernel's arguments; ``params`` are values of parameters."""
        from numba import from_dtype, types

        known = self.dtypes(params)

        def kind(argument: str) -> Any:
            dtype, is_array = known[argument]
            found = from_dtype(dtype)
            return types.Array(found, 1, "C") if is_array else found

        return types.void(*(kind(each) for each in self.arguments(name)))

    def ptx(
        self,
        name: str,
        capabilities: Sequence[tuple[int, int]],
        params: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """A kernel's code for each compute capability; no GPU is needed.

        Types and what LLVM sees do not depend on it, and are most of the work: they are made once,
        by what Numba itself calls for one capability.
        """
        from numba.core.errors import NumbaError
        from numba.cuda.cudadrv.error import CudaSupportError

        compiler: Any = import_module("numba.cuda.compiler")
        types = self.argument_types(name, params)
        plain = dict.fromkeys(("debug", "opt", "abi_info", "launch_bounds"))
        options = dict.fromkeys(("lineinfo", "device", "fastmath", "forceinline", "lto"), False)
        try:
            library, _ = compiler._compile_pyfunc_with_fixup(
                self.function(name), types, cc=capabilities[0], abi="numba", **plain, **options
            )
        except (NumbaError, CudaSupportError) as error:  # the latter: something that needs a GPU
            raise self.explain(name, error) from None
        return ["\n".join(library.get_asm_strs(cc=each)) for each in capabilities]

    def launch(
        self,
        name: str,
        grid: int,
        block: int,
        stream: Any,
        shared_bytes: int,
        given: Mapping[str, Any],
    ) -> None:
        """Start a kernel on a stream; ``given`` has its arguments, and may have more."""
        from numba.core.errors import NumbaError

        if block != self.block or (name == "fold" and grid != 1):
            raise ValueError(
                f"{name}: got {grid} blocks of {block} threads, where blocks have {self.block} "
                "(and fold is one block)"
            )
        passed = [_plain(given[each]) for each in self.arguments(name)]
        try:
            self._kernel(name)[grid, block, stream, shared_bytes](*passed)
        except NumbaError as error:
            raise self.explain(name, error) from None

    def explain(self, name: str, error: Exception) -> ProgramError:
        """The compiler's complaint about a kernel, said about the user's function and line."""
        text = template.module_text(self.signature)
        module = module_of(text, cache_folder())
        return explain(
            self.signature, text, module, error, _alone(self._text, self._texts[name].text)
        )

    @cached_property
    def _text(self) -> str:
        return module_text(self.signature, self.block)

    @cached_property
    def _module(self) -> ModuleType:
        return module_of(self._text, cache_folder())

    @property
    def max_registers(self) -> int | None:
        """Registers that a thread may use so that a whole block finds room; None: all there are.
        The compiler takes more of them if it is given a limit that does not bind.
        """
        share = REGISTERS // self.block
        return share if share < MOST_REGISTERS else None

    def _kernel(self, name: str) -> Any:
        with self._turn:
            if name not in self._compiled:
                self._compiled[name] = self._compile(name)
            return self._compiled[name]

    def _compile(self, name: str) -> Any:
        from numba.core.errors import NumbaPerformanceWarning

        options: dict[str, Any] = {}
        if name in COMPILE_ONLY and simulated():
            raise ValueError(f"{name}: the simulator cannot run it; it is only compiled")
        if self.max_registers is not None and not simulated():  # which knows no such option
            options["max_registers"] = self.max_registers
        # Numba would warn of each small grid: a page has as many vertices as it has.
        warnings.filterwarnings("ignore", "Grid size", NumbaPerformanceWarning)
        return numba_cuda().jit(cache=True, **options)(self.function(name))


def _plain(value: Any) -> Any:
    """Numbers are int64 or float64, so that a kernel is compiled once; arrays are what they are."""
    if isinstance(value, bool | int | np.bool | np.integer):
        return np.int64(value)
    return np.float64(value) if isinstance(value, float | np.floating) else value


def _alone(text: str, kernel: str) -> str:
    """Of a module only one kernel, where it is, with the user's functions as they were written."""
    before = text[: text.index(kernel.rstrip("\n"))].count("\n")
    return "\n" * before + kernel.replace("\n    ", "\n")
