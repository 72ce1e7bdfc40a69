"""What a run has done so far: in memory for the report, in a file to go on from."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torture._campaign import Campaign, Case, Outcome


@dataclass
class Finding:
    """One defect: the cases that found it have the same first line."""

    headline: str
    text: str
    case: Case
    #: The smallest case that still finds it.
    minimal: Case
    times: int = 1


@dataclass
class Tally:
    """What came of the cases of one campaign."""

    campaign: Campaign
    seed: int
    statuses: Counter[str] = field(default_factory=Counter)
    #: For each category, how many cases had each value.
    categories: dict[str, Counter[str]] = field(default_factory=dict)
    skip_reasons: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)
    seconds: float = 0.0

    def count(self, case: Case, outcome: Outcome) -> None:
        """Count a case; the first of a defect becomes its finding."""
        self.statuses[outcome.status] += 1
        for key in self.campaign.categories:
            self.categories.setdefault(key, Counter())[str(case.get(key))] += 1
        if outcome.status == "skipped":
            self.skip_reasons[outcome.headline] += 1
        elif outcome.status == "found":
            known = self.findings.get(outcome.headline)
            if known is None:
                finding = Finding(outcome.headline, outcome.text, case, case)
                self.findings[outcome.headline] = finding
            else:
                known.times += 1


class State:
    """A file of JSON lines, one for each case that ended, and for each that was minimised."""

    def __init__(self, path: Path | None) -> None:
        self._lines = _complete_lines(path) if path is not None else []
        self._file = None if path is None else path.open("a", encoding="utf-8")
        if self._file is not None and path is not None and not _ends_with_newline(path):
            self._file.write("\n")

    def outcomes(self, name: str, seed: int) -> dict[int, Outcome]:
        """What came of the cases of a campaign that ended before, by their place in the order."""
        return {
            line["index"]: Outcome(line["status"], line.get("text", ""))
            for line in self._lines
            if line["campaign"] == name and line["seed"] == seed and "index" in line
        }

    def minimised(self, name: str, seed: int) -> dict[str, tuple[Case, str]]:
        """The smallest cases that are known, by the first line of what they find."""
        return {
            line["headline"]: (line["minimal"], line["text"])
            for line in self._lines
            if line["campaign"] == name and line["seed"] == seed and "minimal" in line
        }

    def add(self, tally: Tally, **line: Any) -> None:
        """Write a line at once: the process may be killed at any time."""
        if self._file is not None:
            about = {"campaign": tally.campaign.name, "seed": tally.seed}
            self._file.write(json.dumps(about | line) + "\n")
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _complete_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of the file; one that was cut off, by the end of the process, is left out."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def _ends_with_newline(path: Path) -> bool:
    text = path.read_bytes()
    return not text or text.endswith(b"\n")
