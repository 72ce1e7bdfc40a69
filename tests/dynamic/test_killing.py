"""A writer that is killed loses nothing that it acknowledged, and leaves nothing torn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_twelve_kills():
    # In a process of its own: it forks, which a process with threads must not.
    script = Path(__file__).with_name("killing.py")
    done = subprocess.run(
        [sys.executable, str(script), "--kills", "12"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "12 kills" in done.stdout
    assert "nothing lost, nothing torn" in done.stdout
