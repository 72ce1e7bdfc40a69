"""The CPU: a program's kernels, compiled by Numba and kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.device.complaints import explain
from penstock.device.generated import cache_folder, module_of
from penstock.device.signature import ProgramSignature
from penstock.device.template import module_text

KERNELS = (
    "init",
    "pull",
    "pull_some",
    "accumulate",
    "finish",
    "finish_some",
    "merge",
    "push",
)


class CpuKernels:
    """The kernels of one program; each is called as the template says."""

    def __init__(self, signature: ProgramSignature) -> None:
        self.signature = signature
        self._text = module_text(signature)
        self._module = module_of(self._text, cache_folder())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in KERNELS:
            raise AttributeError(name)
        compiled = getattr(self._module, name)

        def call(*arguments: Any) -> Any:
            from numba.core.errors import NumbaError

            try:
                return compiled(*arguments)
            except NumbaError as error:
                raise explain(self.signature, self._text, self._module, error) from None

        setattr(self, name, call)
        return call
