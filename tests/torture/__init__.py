"""A bench of attacks on Penstock: campaigns of many generated cases, run in worker processes.

    cd tests && python -m torture NAME|all --minutes 5 --seed 1
    python -m torture NAME --case '{"algorithm": "bfs", ...}'     # one case again

How to add a campaign
---------------------
Write one file, ``tests/torture/NAME.py``; it is found by being there. A name that begins with
``_`` or ``test_``, and a file without ``NAME``, is no campaign. The file has

``NAME``
    Its name, the same as the file's.
``DESCRIPTION``
    One line for the list of campaigns.
``cases(seed) -> Iterator[dict]``
    Cases in an order that depends on `seed` alone. A case is a small dict that JSON can hold, and
    says everything: running it again, alone, does the same thing. Making one must be cheap, because
    a run that is resumed makes them again to find its place. The iterator may be endless.
``run(case, workspace) -> Outcome``
    Try one case. Return ``ok()``, ``found("what is wrong\\ndetails")`` or ``skipped("reason")``.
    An exception counts as found. So do, without any help of the campaign, a crash by a signal, a
    hang, and too much memory. `workspace` is an empty folder (a Path) of the worker process; what
    is left there is seen by the next cases of this worker, and is removed with the worker.

and may have

``CATEGORIES = ("algorithm", "store")``
    Keys of a case whose values are counted in the report.
``shrink(case) -> Iterator[dict]``
    Smaller cases to try when `case` found something, the most promising first. The runner takes
    the first that still finds the same thing (the same first line), and asks again with that.
``snippet(case) -> str``
    Python code that repeats the case without the bench, for the report.
``TIMEOUT_SECONDS = 300``
    How long a case may take. It includes compiling kernels.
``MEMORY_BYTES = 4 << 30``
    How large the worker process may become.
``QUICK_CASES = 10``
    How many cases the tests of the project run, with seed 1: as many as take a few seconds.

Two findings with the same first line count as one defect: the report shows one of them, minimised,
and how often it was found. So put what differs from case to case on later lines. Import Penstock
inside functions: the process that lists campaigns and starts workers does not need it.

A case that needs a process of its own (to be killed, or to run on a damaged disk) starts it in
`run`, in the workspace; when the bench kills a worker, it kills the processes started by it, too.
"""

from torture._campaign import Case, Outcome, found, ok, skipped

__all__ = ["Case", "Outcome", "found", "ok", "skipped"]
