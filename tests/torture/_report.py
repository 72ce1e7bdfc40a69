"""What was tried and what was found: as Markdown for people, as JSON for programs."""

from __future__ import annotations

import json
import shlex
from typing import Any

from torture._campaign import Case
from torture._state import Finding, Tally

_TEXT_LINES = 40


def command_of(spelling: str, case: Case) -> str:
    """What repeats a case, with tests/ as the current folder."""
    return f"python -m torture {shlex.quote(spelling)} --case {shlex.quote(json.dumps(case))}"


def as_json(tallies: list[Tally]) -> dict[str, Any]:
    """All of the report."""
    return {"campaigns": [_tally_as_json(tally) for tally in tallies]}


def as_markdown(tallies: list[Tally]) -> str:
    """All of the report, a section for each campaign."""
    return "\n".join(_section(tally) for tally in tallies)


def _tally_as_json(tally: Tally) -> dict[str, Any]:
    return {
        "campaign": tally.campaign.name,
        "seed": tally.seed,
        "seconds": round(tally.seconds, 1),
        "cases": tally.statuses.total(),
        "statuses": dict(tally.statuses),
        "categories": {key: dict(counts) for key, counts in tally.categories.items()},
        "skip_reasons": dict(tally.skip_reasons),
        "findings": [
            {
                "headline": each.headline,
                "text": each.text,
                "times": each.times,
                "case": each.case,
                "minimal": each.minimal,
                "command": command_of(tally.campaign.spelling, each.minimal),
            }
            for each in tally.findings.values()
        ],
    }


def _section(tally: Tally) -> str:
    counts = tally.statuses
    lines = [
        f"## {tally.campaign.name}",
        "",
        f"{tally.campaign.description}",
        "",
        f"Seed {tally.seed}: {counts.total()} cases, {counts['ok']} ok, {counts['found']} found "
        f"something ({len(tally.findings)} different), {counts['skipped']} skipped; "
        f"{tally.seconds:.0f} s.",
        "",
    ]
    for key, values in tally.categories.items():
        listed = ", ".join(f"{value} {times}" for value, times in sorted(values.items()))
        lines += [f"- {key}: {listed}"]
    lines += [f"- skipped {times}: {why}" for why, times in tally.skip_reasons.most_common()]
    for finding in tally.findings.values():
        lines += _finding(tally, finding)
    return "\n".join([*lines, ""])


def _finding(tally: Tally, finding: Finding) -> list[str]:
    details = finding.text.splitlines()[1:]
    if len(details) > _TEXT_LINES:
        details = ["...", *details[-_TEXT_LINES:]]
    command = command_of(tally.campaign.spelling, finding.minimal)
    lines = ["", f"### {finding.headline}", "", f"Found {finding.times} times. To repeat it:", ""]
    lines += ["```sh", command, "```", ""]
    if tally.campaign.snippet is not None:
        lines += ["```python", tally.campaign.snippet(finding.minimal).rstrip(), "```", ""]
    return [*lines, "```text", *details, "```"]
