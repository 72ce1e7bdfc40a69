"""The files of checkpoints over several hosts: parts, copies of parts, and manifests.

An *epoch* ends where a checkpoint is committed. Each rank saves the entries of its own vertices as
one part; another rank keeps a copy of it; and when all parts are there, every rank writes a
manifest, which lists what the epoch consists of. Files of one epoch, in a folder of each host::

    epoch-000007-1f5e92c4.part-2.by-2     the part of rank 2
    epoch-000007-1f5e92c4.part-2.by-3     its copy, which rank 3 holds
    epoch-000007-1f5e92c4.manifest.by-3   JSON, see Manifest

Ranks of one host, or of several that share a folder, use the same folder. The number is that of the
epoch, followed by the token of the attempt that wrote it, so that a process that was frozen and
wakes up never overwrites files of the ranks that went on without it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from penstock.engine.checkpoint import FILE_NAME, Schedule
from penstock.errors import AccessError, LockedError, TargetExistsError
from penstock.files import open_regular, read_regular, write_error
from penstock.store.catalog import check_whole
from penstock.store.publish import drop_lock, sync_folder, take_lock

#: How often the state of a run over hosts is saved by default.
EVERY_SECONDS = 30.0
#: The environment variable with the directory of scratch folders.
VARIABLE = "PENSTOCK_SCRATCH"
_NAME = re.compile(
    r"epoch-(\d{6,})-([0-9a-f]+)\.(?:part-(\d+)|manifest)\.by-(\d+)(\.saving)?", re.ASCII
)
_LOCK = re.compile(r"rank-\d+\.([0-9a-f]+)-[0-9a-f]+\.\d+\.lock", re.ASCII)
_MOST_MANIFEST = 1 << 20
_ADVICE = "choose another folder with checkpoint= (--checkpoint)"


@dataclass(frozen=True, slots=True)
class EpochOptions:
    """How the state of a run over hosts is saved; the same on all ranks."""

    #: Names the call, and one attempt to run it.
    job: str
    token: str
    every: Schedule = Schedule(every_seconds=EVERY_SECONDS)  # noqa: RUF009
    #: The user's folder, which every host has under this name; None: a scratch folder.
    folder: Path | None = None
    #: The directory of scratch folders; None: as the environment says.
    tmpdir: Path | None = None
    #: Go on from what was saved.
    resume: bool = False
    #: Replace what an unfinished run has left in the user's folder.
    overwrite: bool = False

    @property
    def place(self) -> Path:
        """The folder on this host."""
        return scratch_root(self.tmpdir) / self.job if self.folder is None else self.folder

    def again(self, token: str) -> EpochOptions:
        """The options of another attempt, which goes on from this one."""
        return replace(self, token=token, resume=True)


class Name(NamedTuple):
    """What the name of a file says."""

    epoch: int
    token: str
    #: None: it is a manifest.
    part: int | None
    #: The rank that wrote it.
    by: int

    def __str__(self) -> str:
        what = "manifest" if self.part is None else f"part-{self.part}"
        return f"epoch-{self.epoch:06d}-{self.token}.{what}.by-{self.by}"


def parse_name(text: str) -> Name | None:
    """What the name of a complete file says; None for any other.

    >>> parse_name("epoch-000007-1f5e.part-2.by-3")
    Name(epoch=7, token='1f5e', part=2, by=3)
    >>> str(parse_name("epoch-000007-1f5e.manifest.by-3"))
    'epoch-000007-1f5e.manifest.by-3'
    """
    match = _NAME.fullmatch(text)
    if match is None or match[5]:
        return None
    part = None if match[3] is None else int(match[3])
    return Name(int(match[1]), match[2], part, int(match[4]))


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an epoch consists of."""

    epoch: int
    token: str
    step: int
    extra: Mapping[str, Any]
    identity: Mapping[str, Any]
    #: By part: the checksum of its description, which has those of its arrays.
    parts: tuple[str, ...]
    #: The type of each array, and whether a part has entries by vertex.
    arrays: Mapping[str, str]

    def to_json(self) -> str:
        """As it is in a file."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """From a file; raises a ValueError if it is not one."""
        try:
            data = json.loads(text)
            return cls(
                check_whole("epoch", data["epoch"], 1),
                str(data["token"]),
                check_whole("step", data["step"], 0),
                dict(data["extra"]),
                dict(data["identity"]),
                tuple(map(str, data["parts"])),
                {str(name): str(dtype) for name, dtype in data["arrays"].items()},
            )
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a manifest: {error!r}") from None


# Folders


def scratch_root(tmpdir: Path | None = None) -> Path:
    """The directory of the scratch folders of jobs on this host."""
    base = tmpdir or Path(os.environ.get(VARIABLE) or tempfile.gettempdir())
    return base / f"penstock-{os.getuid()}"


def make_private(folder: Path) -> None:
    """Make a folder that no other user can read, inside of another such folder, unless they exist.
    Raises if one belongs to another user: names in a temporary folder can be guessed.
    """
    for path in (folder.parent, folder):
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise AccessError(
                f"{path}: others can write or read there: it is not a private folder of this user; "
                f"remove it, or set {VARIABLE} to a folder of your own"
            )


class EpochFolder:
    """The folder of a rank, and its lock, which shows that the run is alive."""

    def __init__(self, options: EpochOptions, rank: int) -> None:
        self.path = options.place.absolute()
        self.durable = options.folder is not None
        self._rank = rank
        self._options = options
        self._lock: int | None = None
        name = f"rank-{rank}.{options.job}-{options.token}.{os.getpid()}.lock"
        self._lock_file = self.path / name

    def open(self) -> None:
        """Make the folder and lock it, unless that is done. Ranks of one run share it; it is an
        error if another run uses it.
        """
        while self._lock is None:
            self._make()
            self._refuse_others()
            # A rank of an earlier attempt may remove the folder just now, if it is empty.
            with suppress(FileNotFoundError):
                self._lock = take_lock(self._lock_file, self.path)

    def _make(self) -> None:
        if not self.durable:
            self.path.parent.parent.mkdir(parents=True, exist_ok=True)
            make_private(self.path)
            return
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise write_error(error, self.path, _ADVICE) from None

    def _refuse_others(self) -> None:
        for path, job in locks(self.path):
            if job != self._options.job and is_locked(path):
                raise LockedError(
                    f"{self.path}: another run is using this checkpoint folder (see {path}); wait "
                    f"for it, or {_ADVICE}"
                )

    def close(self) -> None:
        """Release the lock; remove the folder if it is empty."""
        if self._lock is not None:
            drop_lock(self._lock, self._lock_file)
            self._lock = None
        with suppress(OSError):
            self.path.rmdir()

    def names(self) -> list[Name]:
        """The complete files that are here."""
        with suppress(OSError):
            found = (parse_name(name) for name in os.listdir(self.path))
            return sorted(
                (name for name in found if name is not None),
                key=lambda name: (name.epoch, name.token, name.by, name.part or 0),
            )
        return []

    def manifests(self) -> list[str]:
        """The texts of the manifests that are here, without duplicates."""
        texts = {}
        for name in self.names():
            if name.part is None:
                with suppress(OSError, UnicodeDecodeError):
                    data = read_regular(self.path / str(name), most=_MOST_MANIFEST)
                    texts[bytes(data).decode()] = name
        return list(texts)

    def file(self, name: Name) -> Path:
        """The path of a file."""
        return self.path / str(name)

    def begin(self, name: Name) -> int:
        """Open a new file, which gets its name in :meth:`complete`."""
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        return open_regular(self._saving(name), flags)

    def complete(self, fd: int, name: Name) -> None:
        """Close a complete file, and give it its name."""
        try:
            if self.durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        self._saving(name).replace(self.file(name))
        if self.durable:
            sync_folder(self.path)

    def write_manifest(self, manifest: Manifest) -> None:
        """Write this rank's manifest of an epoch."""
        name = Name(manifest.epoch, manifest.token, None, self._rank)
        fd = self.begin(name)
        with open(fd, "wb", closefd=False) as file:
            file.write(manifest.to_json().encode())
        self.complete(fd, name)

    def _saving(self, name: Name) -> Path:
        return self.path / f"{name}.saving"

    def remove_before(self, epoch: int, token: str) -> None:
        """Remove files of older epochs, and those of the same number that other attempts wrote.
        Ranks that are ahead may be writing the next one.
        """
        for path, match in epoch_files(self.path):
            if int(match[1]) < epoch or (int(match[1]) == epoch and match[2] != token):
                with suppress(OSError):
                    path.unlink()

    def remove_own(self, epoch: int, token: str) -> None:
        """Remove what this rank wrote of an epoch that will not be committed."""
        for path, match in epoch_files(self.path):
            if (int(match[1]), match[2], int(match[4])) == (epoch, token, self._rank):
                with suppress(OSError):
                    path.unlink()


def epoch_files(folder: Path) -> Iterator[tuple[Path, re.Match[str]]]:
    """The files of epochs in a folder, complete or not, with the matches of their names."""
    with suppress(OSError):
        for name in os.listdir(folder):
            match = _NAME.fullmatch(name)
            if match is not None:
                yield folder / name, match


def locks(folder: Path) -> Iterator[tuple[Path, str]]:
    """The lock files in a folder, with the job of each."""
    with suppress(OSError):
        for name in os.listdir(folder):
            match = _LOCK.fullmatch(name)
            if match is not None:
                yield folder / name, match[1]


def is_locked(path: Path) -> bool:
    """Whether a process has a lock on a file."""
    try:
        fd = open_regular(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def remove_all(folder: Path) -> None:
    """Remove all epochs in a folder, and the folder if nothing else is in it."""
    for path, _ in epoch_files(folder):
        with suppress(OSError):
            path.unlink()
    for path, _ in locks(folder):
        if not is_locked(path):
            with suppress(OSError):
                path.unlink()
    with suppress(OSError):
        folder.rmdir()


def has_epochs(folder: Path) -> bool:
    """Whether a folder has a checkpoint of a run over hosts."""
    named = (parse_name(path.name) for path, _ in epoch_files(folder))
    return any(name is not None and name.part is None for name in named)


def has_saved(folder: Path) -> bool:
    """Whether a folder has a checkpoint, of one host or of several."""
    return (folder / FILE_NAME).exists() or has_epochs(folder)


def refuse_epochs(folder: Path, manifests: list[Manifest]) -> None:
    """Raise for the checkpoint of a run over hosts that did not finish, if there is one."""
    if not manifests:
        return
    newest = max(manifests, key=lambda each: (each.step, each.epoch))
    what = newest.identity.get("algorithm") or newest.identity.get("program") or "a run"
    saved = ""
    with suppress(OSError, ValueError):
        times = [path.stat().st_mtime for path, _ in epoch_files(folder)]
        saved = f", saved {datetime.fromtimestamp(max(times)).astimezone():%Y-%m-%d %H:%M:%S}"
    raise TargetExistsError(
        f"{folder}: has a checkpoint of {what} over {len(newest.parts)} hosts, which did not "
        f"finish (step {newest.step:,}{saved}); pass resume=True (--resume) with hosts to go on "
        "from it, or overwrite=True (--overwrite) to start again without it"
    )
