"""The command line: ``python -m torture NAME|all``, with tests/ as the current folder."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from threading import Event

from torture._campaign import Campaign, Case, load, names
from torture._process import Worker
from torture._report import as_json, as_markdown, command_of
from torture._runner import Limits, Runner, smaller_cases
from torture._state import State, Tally


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 if nothing was found, 1 if something was, 2 if the arguments are wrong."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.campaign is None:
        for name in names():
            print(f"{name}: {load(name).description}")
        return 0
    try:
        campaigns = [load(name) for name in names() if asked.campaign == "all"]
        campaigns = campaigns or [load(asked.campaign)]
    except ValueError as error:
        parser.error(str(error))
    limits = Limits(
        seconds=_seconds(asked),
        cases=asked.cases,
        jobs=asked.jobs,
        shrink_seconds=asked.shrink_seconds,
        timeout_seconds=asked.timeout,
        memory_bytes=None if asked.memory_mib is None else asked.memory_mib << 20,
        bounds_checks=asked.bounds_checks,
    )
    if asked.case is not None:
        return _repeat(campaigns[0], json.loads(asked.case), limits)
    return _run(campaigns, asked, limits)


def _run(campaigns: list[Campaign], asked: argparse.Namespace, limits: Limits) -> int:
    """One campaign after another; Ctrl-C ends with the report, too."""
    state = State(asked.state)
    tallies: list[Tally] = []
    try:
        for campaign in campaigns:
            tallies.append(Tally(campaign, asked.seed))
            Runner(tallies[-1], limits, state).run()
    except KeyboardInterrupt:
        print("stopped; the same command with --state goes on from here", file=sys.stderr)
    finally:
        state.close()
    print(as_markdown(tallies))
    if asked.report is not None:
        is_json = asked.report.suffix == ".json"
        text = json.dumps(as_json(tallies), indent=1) if is_json else as_markdown(tallies)
        asked.report.write_text(text, encoding="utf-8")
    return int(any(tally.findings for tally in tallies))


def _repeat(campaign: Campaign, case: Case, limits: Limits) -> int:
    """One case, in a worker like all others."""
    worker = Worker(
        campaign,
        Event(),
        timeout_seconds=limits.timeout_seconds,
        memory_bytes=limits.memory_bytes,
        bounds_checks=limits.bounds_checks,
    )
    try:
        outcome = worker.run(case)
        print(f"{outcome.status}: {outcome.text}")
        if outcome.status == "found":
            for smaller, _ in smaller_cases(worker, case, outcome, limits.shrink_seconds):
                case = smaller
            print(f"\nsmallest case:\n{command_of(campaign.spelling, case)}")
            if campaign.snippet is not None:
                print(f"\n{campaign.snippet(case)}")
    finally:
        worker.close()
    return int(outcome.status == "found")


def _seconds(asked: argparse.Namespace) -> float | None:
    """Time for each campaign: one minute if neither time nor number of cases is given."""
    if asked.minutes is None:
        return 60.0 if asked.cases is None else None
    return 60.0 * float(asked.minutes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    add = parser.add_argument
    add("campaign", nargs="?", help="a name, all, or the path of a file; none: list them")
    add("--minutes", type=float, help="time for each campaign")
    add("--cases", type=int, help="cases of each campaign at most")
    add("--seed", type=int, default=0, help="which cases, and in which order")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    add("--case", help="run this case alone, given as JSON")
    add("--state", type=Path, help="JSON lines of what was done; a run goes on from there")
    add("--report", type=Path, help="write the report here, as JSON if it ends in .json")
    add("--timeout", type=float, help="seconds for a case, instead of what the campaign says")
    add("--memory-mib", type=int, help="size of a worker, instead of what the campaign says")
    add("--shrink-seconds", type=float, default=60.0, help="time to minimise a finding; 0: none")
    add("--bounds-checks", action="store_true", help="compile kernels with bounds checks")
    return parser


if __name__ == "__main__":
    sys.exit(main())
