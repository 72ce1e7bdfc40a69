"""For :mod:`suite`: what became of each test of NetworkX, and which functions of the backend it
called. ``SUITE_REPORT`` is the file that it writes; ``SUITE_TESTS``, if set, a file with the names
of the tests to run.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path

import pytest

_called: set[str] = set()
_refused: dict[str, str] = {}
_found: dict[str, dict] = {}


def pytest_configure(config):
    from penstock.interfaces.nx.backend import backend
    from penstock.interfaces.nx.info import FUNCTIONS

    def watched(name):
        function = getattr(backend, name)

        @functools.wraps(function)
        def called(*args, **kwargs):
            _called.add(name)
            try:
                return function(*args, **kwargs)
            except NotImplementedError as error:
                _refused[name] = str(error)
                raise

        return called

    for name in FUNCTIONS:
        setattr(backend, name, watched(name))
    can_run = backend.can_run

    def asked(name, args, kwargs):
        answer = can_run(name, args, kwargs)
        if answer is not True:
            _refused[name] = str(answer)
        return answer

    backend.can_run = asked


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    wanted = os.environ.get("SUITE_TESTS")
    if wanted:
        names = set(Path(wanted).read_text().splitlines())
        items[:] = [item for item in items if item.nodeid in names]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.backend = {"called": sorted(_called), "refused": dict(_refused)}
    if report.when == "teardown":
        _called.clear()
        _refused.clear()
    return report


def pytest_runtest_logreport(report):
    """In the process that collects the reports. A test may have been given up in its setup."""
    test = _found.setdefault(
        report.nodeid, {"outcome": "passed", "why": "", "called": [], "refused": {}}
    )
    test["called"] = sorted({*test["called"], *report.backend["called"]})
    test["refused"] |= report.backend["refused"]
    if report.outcome == "failed":
        test["outcome"], test["why"] = "failed", str(report.longrepr)[-2000:]
    elif report.outcome == "skipped" and test["outcome"] == "passed":
        given_up = hasattr(report, "wasxfail")
        test["outcome"] = "given up" if given_up else "skipped"
        test["why"] = report.wasxfail if given_up else str(report.longrepr)[-200:]


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        Path(os.environ["SUITE_REPORT"]).write_text(json.dumps(_found))
