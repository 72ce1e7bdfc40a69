from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def rows(request, bench):
    """The rows of each experiment of a module's suite, which is run when it is first asked for."""
    found = {}

    def of(name):
        if name not in found:
            found[name] = request.module.SUITE.experiments[name].run(bench)
        return found[name]

    return of
