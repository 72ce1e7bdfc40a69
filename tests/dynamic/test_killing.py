"""A writer that is killed loses nothing that it acknowledged, and leaves nothing torn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


# Forty steps are those of a compaction, from its log to the last file that is removed, and more.
@pytest.mark.parametrize(("when", "kills"), [("--kills", 12), ("--steps", 40)])
def test_kills(when, kills):
    # In a process of its own: it forks, which a process with threads must not.
    script = Path(__file__).with_name("killing.py")
    done = subprocess.run(
        [sys.executable, str(script), when, str(kills)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"{kills} kills" in done.stdout
    assert "nothing lost, nothing torn" in done.stdout
