"""Did anything get slower? The working tree against a commit, a dozen ratios in a few minutes.

    python benchmarks/guard.py --against HEAD
    python benchmarks/guard.py --against v0.1 --only bfs,build --pairs 15 --json guard.json

The commit is checked out into a temporary folder. Each side works in a process of its own, which
keeps its graphs open, with its own stores and compiled kernels; the inputs and the interpreter are
the same. The sides take turns, run by run, and in every second pair the other side goes first. What
looks slower is measured again in new processes, and counts if it looks slower again.

Prints a table in Markdown. The exit code is 1 if something is slower, 2 if nothing could be
compared. ``guard_worker.py`` has the measurements.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from math import ceil, sqrt
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from guard_worker import INPUT_SCALES, MEASUREMENTS

ROOT = Path(__file__).resolve().parents[1]
EDGE_FACTOR = 16
#: A run takes about this long; shorter ones are repeated.
RUN_SECONDS = 0.25
#: Slower by less than this is not told from chance, however little the times vary.
TOLERANCE = 0.03


# Statistics


@dataclass(frozen=True)
class Comparison:
    """The times of both sides in one measurement, pair by pair, in seconds."""

    name: str
    before: tuple[float, ...]
    now: tuple[float, ...]
    repeats: int = 1

    @property
    def ratios(self) -> list[float]:
        """How much longer the working tree took, in each pair."""
        return [now / before for before, now in zip(self.before, self.now, strict=True)]

    @property
    def ratio_of_minima(self) -> float:
        """The least time of the working tree over that of the commit."""
        return min(self.now) / min(self.before)

    @property
    def median_ratio(self) -> float:
        """The median of the ratios of the pairs."""
        return median(self.ratios)

    @property
    def noise(self) -> float:
        """By how much the median ratio may be off by chance."""
        return relative_noise(self.ratios)

    @property
    def verdict(self) -> str:
        """ "slower", "faster" or "same"."""
        return judge(self.ratio_of_minima, self.median_ratio, self.noise)

    def as_json(self) -> dict[str, Any]:
        """The times, and what follows from them."""
        derived = ("ratio_of_minima", "median_ratio", "noise", "verdict")
        return {**asdict(self), **{name: getattr(self, name) for name in derived}}


def relative_noise(ratios: Sequence[float]) -> float:
    """Two standard errors of the median, relative to it.

    The standard deviation is 1.48 times the median absolute deviation, which outliers do not
    change, and the standard error of a median 1.25 standard deviations over the root of the count.
    """
    middle = median(ratios)
    deviation = median(abs(ratio / middle - 1) for ratio in ratios)
    return 2 * 1.25 * 1.48 * deviation / sqrt(len(ratios))


def judge(ratio_of_minima: float, median_ratio: float, noise: float) -> str:
    """Slower or faster only if both ratios say so, by more than the tolerance and the noise."""
    limit = 1 + TOLERANCE + noise
    if min(ratio_of_minima, median_ratio) > limit:
        return "slower"
    return "faster" if max(ratio_of_minima, median_ratio) < 1 / limit else "same"


def repeats_for(seconds: float) -> int:
    """How often to repeat a call that takes this long, so that a run is long enough to time."""
    return max(1, ceil(RUN_SECONDS / max(seconds, 1e-6)))


def markdown(comparisons: Sequence[Comparison]) -> str:
    """The table; times are in milliseconds."""
    head = (
        "measurement", "before, min", "median", "now, min", "median", "ratio of minima",
        "median ratio", "noise", "verdict",
    )  # fmt: skip
    rows = [head, ("---", *["---:"] * (len(head) - 2), "---")]
    for row in comparisons:
        times = (min(row.before), median(row.before), min(row.now), median(row.now))
        verdict = "**slower**" if row.verdict == "slower" else row.verdict
        rows.append((
            f"{row.name}: {MEASUREMENTS[row.name].what}",
            *(f"{1e3 * seconds:.4g}" for seconds in times),
            f"{row.ratio_of_minima:.3f}", f"{row.median_ratio:.3f}", f"{row.noise:.3f}", verdict,
        ))  # fmt: skip
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


# Inputs


def rmat(scale: int, seed: int) -> np.ndarray:
    """Edges of an R-MAT graph with Graph500's probabilities, two rows, ids shuffled.

    Made here, so that neither side has a part in it.
    """
    generator = np.random.default_rng(seed)
    edges = np.zeros((2, EDGE_FACTOR << scale), np.uint32)
    a, b, c = (round(share * (1 << 16)) for share in (0.57, 0.57 + 0.19, 0.57 + 0.19 + 0.19))
    for begin in range(0, edges.shape[1], 1 << 18):
        src, dst = edges[:, begin : begin + (1 << 18)]
        for _ in range(scale):
            drawn = generator.integers(0, 1 << 16, len(src), np.uint16)
            src[:] = src << 1 | (drawn >= b)
            dst[:] = dst << 1 | ((drawn >= a) & (drawn < b) | (drawn >= c))
    return generator.permutation(1 << scale).astype(np.uint32)[edges]


def make_input(folder: Path, name: str, scale: int) -> None:
    """Write the edges of an input, unless they are there; of the small one also as text."""
    path = folder / f"{name}.npy"
    if path.exists():
        return
    say(f"input {name}")
    edges = rmat(scale + INPUT_SCALES[name], seed=scale)
    np.save(path, edges)
    if name == "small":
        table = pa.table({"src": edges[0], "dst": edges[1]})
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter="\t")
        pyarrow.csv.write_csv(table, folder / "small.txt", options)


# Sides


class SideError(Exception):
    """A side could not do what it was asked."""


class Side:
    """One process that measures."""

    def __init__(self, name: str, source: Path, work: Path, scale: int) -> None:
        self.name = name
        folder = work / f"{name}-files"
        folder.mkdir(exist_ok=True)
        path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
        caches = {
            "PENSTOCK_CACHE_DIR": str(folder / "cache"),
            "NUMBA_CACHE_DIR": str(folder / "numba"),
        }
        # In a session of its own: Ctrl-C reaches this process alone, which then ends both sides.
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("guard_worker.py")),
             str(source), str(work), str(folder), str(scale)],
            env={**os.environ, **caches, "PYTHONPATH": path},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def send(self, **request: Any) -> None:
        """Ask for something."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # `receive` says how it ended
            print(json.dumps(request), file=self._process.stdin, flush=True)

    def receive(self) -> dict[str, Any]:
        """The reply to what was asked; it has an "error" if that failed."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            return {"error": f"its process ended with code {self._process.wait()}"}
        reply: dict[str, Any] = json.loads(line)
        return reply

    def run(self, name: str, repeats: int) -> tuple[float, int]:
        """Seconds of one repetition, and the answer."""
        self.send(do="run", name=name, repeats=repeats)
        reply = self.receive()
        if "error" in reply:
            raise SideError(f"{name}, {self.name}: {reply['error']}")
        return reply["seconds"], reply["answer"]

    def stop(self) -> None:
        """End the process and all that it has started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


@contextmanager
def both_sides(checkout: Path, work: Path, scale: int) -> Iterator[list[Side]]:
    """The processes of the commit and of the working tree, in this order."""
    sides: list[Side] = []
    try:
        for name, root in (("before", checkout), ("now", ROOT)):
            sides.append(Side(name, root / "src", work, scale))
        yield sides
    finally:
        for side in sides:
            side.stop()


def compare(name: str, sides: list[Side], pairs: int) -> Comparison | None:
    """One measurement; None if the commit cannot do it."""
    for side in sides:
        side.send(do="prepare", name=name)
    before_error, now_error = [side.receive().get("error") for side in sides]
    if now_error is not None:
        raise SideError(f"{name}, now: {now_error}")
    if before_error is not None:
        reason = before_error.strip().splitlines()[-1]
        say(f"{name}: left out, the commit cannot do it: {reason}")
        return None
    # The first round does not count, but says how often to repeat.
    repeats = repeats_for(max(side.run(name, 1)[0] for side in sides))
    times: dict[str, list[float]] = {"before": [], "now": []}
    for pair in range(pairs):
        answers = set()
        for side in sides if pair % 2 == 0 else reversed(sides):
            seconds, answer = side.run(name, repeats)
            times[side.name].append(seconds)
            answers.add(answer)
        if len(answers) > 1:
            raise SideError(f"{name}: the sides have different answers, {sorted(answers)}")
    return Comparison(name, tuple(times["before"]), tuple(times["now"]), repeats)


def measure(
    names: list[str], checkout: Path, work: Path, scale: int, pairs: int
) -> list[Comparison]:
    """All measurements that were asked for."""
    found = []
    with both_sides(checkout, work, scale) as sides:
        for name in names:
            make_input(work, MEASUREMENTS[name].input, scale)
            say(name)
            comparison = compare(name, sides, pairs)
            if comparison is not None:
                found.append(comparison)
    return found


# The command


def git(*arguments: str) -> str:
    """What a git command prints; what it has to complain about is shown."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """The files of a commit, for a time."""
    git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    try:
        yield folder
    finally:
        git("worktree", "remove", "--force", str(folder))


def say(text: str) -> None:
    """Tell how far it has come."""
    print(f"guard: {text}", file=sys.stderr, flush=True)


def guard(arguments: argparse.Namespace, commit: str) -> list[Comparison]:
    """Measure, and measure again in new processes what looks slower."""
    load = os.getloadavg()[0]
    if load > 0.5:
        say(f"other programs are running (load {load:.1f}): expect noise")
    sizes = (arguments.scale, arguments.pairs)
    with (
        tempfile.TemporaryDirectory(prefix="penstock-guard-", dir=arguments.folder) as work,
        checked_out(commit, Path(work) / "commit") as checkout,
    ):
        rows = measure(arguments.only, checkout, Path(work), *sizes)
        slower = [row.name for row in rows if row.verdict == "slower"]
        if slower:
            say(f"once more: {', '.join(slower)}")
            again = {row.name: row for row in measure(slower, checkout, Path(work), *sizes)}
            rows = [again.get(row.name, row) for row in rows]
    return rows


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown measurement {unknown[0]!r}; there are {', '.join(MEASUREMENTS)}"
        )
    return names


def parse(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--against", required=True, metavar="COMMIT", help="what to compare with")
    parser.add_argument("--scale", type=int, default=20, help="2 to this many vertices")
    parser.add_argument("--pairs", type=int, default=7, help="runs of each side")
    parser.add_argument(
        "--only", type=_names, default=list(MEASUREMENTS), metavar="NAME,...",
        help=f"some of {', '.join(MEASUREMENTS)}",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="where all times go")
    parser.add_argument("--folder", help="where to work, on the disk to measure; default: TMPDIR")
    arguments = parser.parse_args(given)
    if not 6 <= arguments.scale <= 26:
        parser.error(f"--scale: requires 6 to 26, got {arguments.scale}")
    if arguments.pairs < 2:
        parser.error(f"--pairs: requires at least 2, got {arguments.pairs}")
    return arguments


def main() -> int:
    """Compare, print, and return the exit code."""
    arguments = parse()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        commit = git("rev-parse", "--verify", f"{arguments.against}^{{commit}}")
        head, changed = git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "src"))
        rows = guard(arguments, commit)
    except KeyboardInterrupt:
        say("stopped")
        return 130
    except (SideError, subprocess.CalledProcessError) as error:
        say(str(error))
        return 2
    if not rows:
        say("nothing could be compared")
        return 2
    print(f"Working tree ({head[:10]}{' with changes' if changed else ''}) against {commit[:10]}, "
          f"scale {arguments.scale}, {arguments.pairs} pairs, {os.cpu_count()} cores; "
          "times in milliseconds.\n")  # fmt: skip
    print(markdown(rows))
    if arguments.json is not None:
        about = {"head": head, "changed": changed, "against": commit, "scale": arguments.scale}
        found = {**about, "rows": [row.as_json() for row in rows]}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(row.verdict == "slower" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
