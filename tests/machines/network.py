"""Several machines in one: network namespaces joined by a bridge, in a namespace of its own.

Nothing outside of these namespaces is touched, except for control groups of the same names. All is
removed by a process that waits for the one that made it to end, however it ends; what is left when
that one was killed too is removed by the next network.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PREFIX = "penstock-net"
#: Short periods: a process that has used its share waits for milliseconds, not for a tenth of a
#: second.
_CPU_PERIOD_US = 5000
_GROUPS = Path("/sys/fs/cgroup")

#: Reads until its input ends, and removes what it was told of.
_JANITOR = """
cat > /dev/null
for name in $SPACES; do
  for k in 1 2 3 4 5; do
    left=$(ip netns pids $name 2> /dev/null)
    [ -z "$left" ] && break
    kill -9 $left 2> /dev/null
    sleep 0.05
  done
  ip netns del $name 2> /dev/null
done
for group in $GROUPS_MADE; do
  for k in 1 2 3 4 5 6 7 8 9 10; do
    [ -d $group ] || break
    rmdir $group 2> /dev/null && break
    sleep 0.1
  done
done
rm -rf "$FOLDER"
"""


@dataclass(frozen=True)
class Share:
    """What a machine may use; None: as much as there is."""

    cores: float | None = None
    memory_bytes: int | None = None
    #: Of its link, both ways.
    megabits: int | None = None
    #: Its folder is a file system of this size of its own.
    disk_bytes: int | None = None


def missing() -> str:
    """Why there can be no network here; empty if there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "network namespaces need Linux and root"
    for tool in ("ip", "tc", "unshare", "mount"):
        if shutil.which(tool) is None:
            return f"network namespaces need the command {tool}"
    if shutil.which("nft") is None and shutil.which("iptables") is None:
        return "losing packets needs nft or iptables"
    name = f"{PREFIX}-{os.getpid()}-{secrets.token_hex(2)}-probe"
    made = _try("ip", "netns", "add", name)
    if made:
        return f"network namespaces are not allowed here: {made}"
    made = _try("ip", "-n", name, "link", "add", "name", "probe", "type", "bridge")
    _try("ip", "netns", "del", name)
    return f"bridges are not allowed here: {made}" if made else ""


def missing_groups() -> str:
    """Why machines cannot have shares of processors and memory; empty if they can."""
    for kind in ("cpu", "memory"):
        if not os.access(_GROUPS / kind / "cgroup.procs", os.W_OK):
            return f"{_GROUPS / kind}: no control groups (v1) that can be written to"
    return ""


class Machine:
    """A machine: its namespace, address and folder."""

    def __init__(self, base: str, number: int, address: str, folder: Path, share: Share) -> None:
        self.number = number
        self.address = address
        self.host = f"machine{number}"
        self.folder = folder
        #: Its folder, under the name that those of all machines have on them.
        self.own = folder.parent / "own"
        self.namespace = f"{base}-{number}"
        self._share = share
        self._groups: list[Path] = []

    def set_up(self, switch: str) -> None:
        """Make the namespace and join it to the bridge."""
        space, port = self.namespace, f"port{self.number}"
        _do("ip", "netns", "add", space)
        _do("ip", "-n", switch, "link", "add", port, "type", "veth", "peer", "eth0", "netns", space)
        _do("ip", "-n", switch, "link", "set", port, "master", "bridge0", "up")
        _do("ip", "-n", space, "address", "add", f"{self.address}/24", "dev", "eth0")
        _do("ip", "-n", space, "link", "set", "lo", "up")
        _do("ip", "-n", space, "link", "set", "eth0", "up")
        if self._share.megabits is not None:
            rate = f"{self._share.megabits}mbit"
            # What may go out at once, and how long the rest may wait.
            shape = ("root", "tbf", "rate", rate, "burst", "256kb", "latency", "100ms")
            _do("tc", "-n", switch, "qdisc", "add", "dev", port, *shape)
            _do("tc", "-n", space, "qdisc", "add", "dev", "eth0", *shape)
        self.folder.mkdir()
        self.own.mkdir(exist_ok=True)
        self._make_groups()

    def groups(self) -> list[Path]:
        """The control groups that it has or will have."""
        found = []
        if self._share.cores is not None:
            found.append(_GROUPS / "cpu" / self.namespace)
        if self._share.memory_bytes is not None:
            found.append(_GROUPS / "memory" / self.namespace)
        return found

    def _make_groups(self) -> None:
        self._groups = self.groups()
        for group in self._groups:
            group.mkdir()
        share = self._share
        if share.cores is not None:
            group = _GROUPS / "cpu" / self.namespace
            (group / "cpu.cfs_period_us").write_text(str(_CPU_PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(int(share.cores * _CPU_PERIOD_US)))
        if share.memory_bytes is not None:
            group = _GROUPS / "memory" / self.namespace
            (group / "memory.limit_in_bytes").write_text(str(share.memory_bytes))

    def start(
        self, command: Sequence[str], *, env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[Any]:
        """Start a process on this machine. Its host name is that of the machine."""
        script = 'hostname "$0"; '
        if self._share.disk_bytes is not None:
            size = self._share.disk_bytes
            script += f'mount -t tmpfs -o size={size} tmpfs "{self.folder}" && '
        script += f'mount --bind "{self.folder}" "{self.own}" && '
        script += 'exec "$@"'
        inside = ("unshare", "--uts", "sh", "-c", script, self.host, *command)

        def enter() -> None:
            for group in self._groups:
                (group / "cgroup.procs").write_text(str(os.getpid()))

        return subprocess.Popen(
            ["ip", "netns", "exec", self.namespace, *inside],
            env={**os.environ, **(env or {})},
            preexec_fn=enter if self._groups else None,
            **options,
        )

    def pids(self) -> list[int]:
        """The processes of this machine."""
        found = subprocess.run(
            ["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=False
        )
        return [int(word) for word in found.stdout.split()]

    def unplug(self) -> None:
        """Take its link down: no packet comes or goes, and no connection ends."""
        _do("ip", "-n", self.namespace, "link", "set", "eth0", "down")

    def plug(self) -> None:
        """Take its link up."""
        _do("ip", "-n", self.namespace, "link", "set", "eth0", "up")

    def lose(self, percent: int) -> None:
        """Lose packets at random, of those that come and of those that go."""
        if shutil.which("nft") is not None:
            ways = (("input", "iifname"), ("output", "oifname"))
            rules = "\n".join(
                f"chain {way} {{\n type filter hook {way} priority 0;\n {name} eth0 "
                f"numgen random mod 100 < {percent} drop\n}}"
                for way, name in ways
            )
            self._inside("nft", "-f", "-", text=f"table inet losing {{\n{rules}\n}}\n")
            return
        for chain, option in (("INPUT", "-i"), ("OUTPUT", "-o")):
            self._inside(
                "iptables", "-A", chain, option, "eth0", "-m", "statistic", "--mode", "random",
                "--probability", str(percent / 100), "-j", "DROP",
            )  # fmt: skip

    def lose_nothing(self) -> None:
        """Lose no packets from now on."""
        if shutil.which("nft") is not None:
            self._inside("nft", "delete", "table", "inet", "losing")
        else:
            self._inside("iptables", "-F")

    def _inside(self, *command: str, text: str | None = None) -> None:
        _do("ip", "netns", "exec", self.namespace, *command, text=text)


class Network:
    """Machines on one bridge; removed with :meth:`close`, or when this process ends."""

    def __init__(
        self, count: int, share: Share | None = None, *, first: Share | None = None
    ) -> None:
        """``first``: what the first machine may use, if that is something else."""
        _remove_old()
        self.share = share or Share()
        shares = [first or self.share] + [self.share] * (count - 1)
        base = f"{PREFIX}-{os.getpid()}-{secrets.token_hex(2)}"
        self.folder = Path(tempfile.mkdtemp(prefix=f"{base}-"))
        self._switch = f"{base}-switch"
        subnet = f"10.77.{secrets.randbelow(250)}"
        self.machines = [
            Machine(base, k, f"{subnet}.{k + 1}", self.folder / f"machine{k}", each)
            for k, each in enumerate(shares)
        ]
        spaces = [self._switch, *(machine.namespace for machine in self.machines)]
        groups = [group for machine in self.machines for group in machine.groups()]
        self._janitor = _start_janitor(spaces, groups, self.folder)
        try:
            self._set_up()
        except BaseException:
            self.close()
            raise

    def _set_up(self) -> None:
        _do("ip", "netns", "add", self._switch)
        _do("ip", "-n", self._switch, "link", "add", "name", "bridge0", "type", "bridge")
        _do("ip", "-n", self._switch, "link", "set", "bridge0", "up")
        for machine in self.machines:
            machine.set_up(self._switch)

    def close(self) -> None:
        """Kill what runs on the machines, and remove them."""
        assert self._janitor.stdin is not None
        self._janitor.stdin.close()
        self._janitor.wait(60)

    def __enter__(self) -> Network:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def spaces_of(pid: int) -> list[str]:
    """The namespaces that a process has made and that are there."""
    return [name for name in _spaces() if name.startswith(f"{PREFIX}-{pid}-")]


def _spaces() -> list[str]:
    found = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    return [line.split()[0] for line in found.stdout.splitlines() if line.strip()]


def _remove_old() -> None:
    """Remove what is left of processes that were killed together with their janitor."""
    old: dict[int, list[str]] = {}
    for name in _spaces():
        with suppress(ValueError, IndexError):
            if name.startswith(f"{PREFIX}-"):
                old.setdefault(int(name.split("-")[2]), []).append(name)
    for pid, spaces in old.items():
        if not Path(f"/proc/{pid}").exists():
            groups = [_GROUPS / kind / name for kind in ("cpu", "memory") for name in spaces]
            base = spaces[0].rpartition("-")[0]
            folders = sorted(Path(tempfile.gettempdir()).glob(f"{base}-*"))
            janitor = _start_janitor(spaces, groups, *folders[:1])
            janitor.communicate(timeout=60)


def _start_janitor(
    spaces: Sequence[str], groups: Sequence[Path], folder: Path | None = None
) -> subprocess.Popen[bytes]:
    environment = {
        "PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        "SPACES": " ".join(spaces),
        "GROUPS_MADE": " ".join(map(str, groups)),
        "FOLDER": str(folder or ""),
    }
    return subprocess.Popen(
        ["sh", "-c", _JANITOR], stdin=subprocess.PIPE, env=environment, start_new_session=True
    )


def _do(*command: str, text: str | None = None) -> None:
    found = subprocess.run(command, capture_output=True, text=True, input=text, check=False)
    if found.returncode:
        raise RuntimeError(f"{' '.join(command)}: {found.stderr.strip() or found.stdout.strip()}")


def _try(*command: str) -> str:
    """What a command complains of; empty if it does not."""
    try:
        _do(*command)
    except (RuntimeError, OSError) as error:
        return str(error)
    return ""
