"""The scripts of ``benchmarks/`` can be imported: they use what there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_script_can_be_imported(script):
    done = subprocess.run(
        [sys.executable, "-c", f"import {script.stem}"], cwd=FOLDER, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
