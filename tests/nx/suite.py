"""NetworkX's own tests against the backend: ``python tests/nx/suite.py [module ...]``.

First all of them strictly: each call of a function that the backend has goes to it, and a test that
calls any other function of NetworkX's registry is given up where it does. Then those that were
given up once more, the other functions being NetworkX's own, so that they reach what comes after;
the functions of the backend have no way back to NetworkX in either run. Fails unless

- every test passes that NetworkX does not skip, but for those in ``exceptions.txt``;
- each function of the backend was called by a test that passed;
- refusals of the backend (tests, by function) and exceptions are ten at most.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import networkx as nx

from penstock.interfaces.nx.info import FUNCTIONS

HERE = Path(__file__).resolve().parent
SITE = Path(nx.__file__).resolve().parents[1]
MOST_EXCEPTIONS = 10


def run(tests: list[str], jobs: int, folder: Path, *, only: list[str] | None = None) -> dict:
    """What became of each test; ``only``: of those, with NetworkX's own functions for the rest."""
    report = folder / "report.json"
    environment = {
        **os.environ,
        "NETWORKX_TEST_BACKEND": "penstock",
        "SUITE_REPORT": str(report),
        "PYTHONPATH": str(HERE),
    }
    environment.pop("NETWORKX_FALLBACK_TO_NX", None)
    if only is not None:
        names = folder / "tests.txt"
        names.write_text("\n".join(only))
        environment |= {"SUITE_TESTS": str(names), "NETWORKX_FALLBACK_TO_NX": "True"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "suite_plugin", "--tb=short"]
    command += ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={SITE}"]
    command += [f"-n{jobs}", "--dist=worksteal", "--no-header"]
    done = subprocess.run(
        [*command, *tests], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1) or not report.exists():
        sys.exit(
            f"pytest ended with {done.returncode}:\n{done.stdout[-5000:]}{done.stderr[-5000:]}"
        )
    return json.loads(report.read_text())


def read_exceptions() -> dict[str, str]:
    """The tests that need not pass, with the reason."""
    lines = (HERE / "exceptions.txt").read_text().splitlines()
    pairs = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return dict(pairs)


def judge(found: dict[str, dict], exceptions: dict[str, str], *, whole: bool) -> list[str]:
    """What is wrong, a line each."""
    wrong = []
    for name, test in found.items():
        if test["outcome"] == "failed" and name not in exceptions:
            wrong.append(f"failed: {name} (calls {', '.join(test['called'])})\n{test['why']}")
        elif test["outcome"] == "given up" and test["called"] and not test["refused"]:
            wrong.append(f"given up with NetworkX's own functions at hand: {name}: {test['why']}")
    passed = [test for test in found.values() if test["outcome"] == "passed"]
    refusals = sum(bool(test["refused"]) for test in found.values())
    if refusals + len(exceptions) > MOST_EXCEPTIONS:
        wrong.append(f"{refusals} refusals and {len(exceptions)} exceptions: too many")
    if whole:
        called = {name for test in passed for name in test["called"]}
        wrong += [f"no test that passes calls {name}" for name in sorted(FUNCTIONS.keys() - called)]
        wrong += [f"no such test: {name}" for name in sorted(exceptions.keys() - found.keys())]
    return wrong


def tell(found: dict[str, dict], strict: dict[str, dict]) -> None:
    """Counts, and what was refused."""
    reached = [test for test in found.values() if test["called"]]
    outcomes = Counter(test["outcome"] for test in reached)
    alone = sum(test["outcome"] == "passed" and bool(test["called"]) for test in strict.values())
    print(
        f"{len(found):,} tests; {len(reached):,} reach functions of the backend: {dict(outcomes)}"
    )
    print(f"{alone:,} of them pass with no function of NetworkX's own")
    calls = Counter(name for test in reached for name in test["called"])
    print("tests that call each function:")
    print("  " + ", ".join(f"{name} {count}" for name, count in sorted(calls.items())))
    refused = Counter(name for test in found.values() for name in test["refused"])
    print(f"refusals by function: {dict(refused) or 'none'}")


def main() -> int:
    """Run and judge; 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tests", nargs="*", default=["networkx"], help="paths below site-packages")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    chosen = parser.parse_args()
    tests = [str(SITE / test) for test in chosen.tests]
    with tempfile.TemporaryDirectory() as folder:
        strict = run(tests, chosen.jobs, Path(folder))
        again = [name for name, test in strict.items() if test["outcome"] == "given up"]
        found = strict | (run(tests, chosen.jobs, Path(folder), only=again) if again else {})
    wrong = judge(found, read_exceptions(), whole=chosen.tests == ["networkx"])
    tell(found, strict)
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
