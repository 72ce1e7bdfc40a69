"""The process that cases run in: cases come as JSON lines, outcomes go back as JSON lines."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import signal
import sys
import traceback
from pathlib import Path

from torture._campaign import Campaign, Case, Outcome, found, load


def attempt(campaign: Campaign, case: Case, workspace: Path) -> Outcome:
    """Run a case; an exception is a finding, named by its type and place."""
    try:
        return campaign.run(case, workspace)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        inside = [f for f in frames if f"{os.sep}penstock{os.sep}" in f.filename]
        place = (inside or frames)[-1]
        where = f"{os.path.basename(place.filename)}, {place.name}"
        return found(f"{type(error).__name__} in {where}\n{traceback.format_exc()}")


def _end_with_parent() -> None:
    """Have the system end this process when the one that started it ends, however that comes."""
    parent_death_signal = 1
    ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)


def main(spelling: str, workspace: str) -> None:
    """Serve until the input ends."""
    # The library, or what it calls, may print: answers have a channel of their own.
    _end_with_parent()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    faulthandler.enable()
    campaign = load(spelling)
    for line in sys.stdin:
        outcome = attempt(campaign, json.loads(line), Path(workspace))
        answers.write(json.dumps({"status": outcome.status, "text": outcome.text}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
