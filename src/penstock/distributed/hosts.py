"""The machines or processes that a run is divided among: ``penstock.Hosts``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any

from penstock.distributed.host_choice import HostChoice, read_hosts, require_count
from penstock.errors import OptionError

if TYPE_CHECKING:
    from penstock.distributed.tls import Tls


class Hosts:
    """Ranks that are kept from one call to the next.

    Parameters
    ----------
    hosts
        How many processes to start on this machine; or the address of a Dask scheduler; or a
        ``distributed.Client``; or ``"ssh:host1,host2"`` to start workers on machines that ``ssh``
        reaches; or ``"slurm"`` in processes that ``srun`` has started: the first of them runs the
        scheduler and goes on, and the others become workers here and end with it.
    tls
        A folder with ``ca.pem``, ``cert.pem`` and ``key.pem``, which ``penstock certificates``
        makes, for an address that begins with ``tls://``; or to encrypt the connections of
        processes on this machine. ``ssh:`` and ``slurm`` make their own certificates.
    security
        The same as a ``distributed.Security``.
    insecure
        Accept an address that is neither encrypted nor on this machine. A Dask scheduler runs the
        code of anyone who reaches it.
    threads
        Threads for each rank. None: as its worker was started with, or its share of the machine.
    patience
        Seconds of silence after which a rank counts as lost.
    """

    #: Threads for each rank, if that was given.
    threads: int | None = None

    def __init__(
        self,
        hosts: Any,
        *,
        tls: str | os.PathLike[str] | Tls | None = None,
        security: Any = None,
        insecure: bool = False,
        threads: int | None = None,
        patience: float | None = None,
    ) -> None:
        if threads is not None:
            require_count("threads", threads)
        choice = read_hosts(hosts)
        if tls is not None:
            security = _make_security(tls, security)
        self.threads = threads
        given: dict[str, Any] = {"threads": threads}
        if patience is not None:
            given["patience"] = _checked_patience(patience)
        if choice.kind == "count":
            crews = load_cluster("dask_crew")
            self._crew = crews.DaskCrew.local(choice.count, security=security, **given)
        elif choice.kind in ("ssh", "slurm"):
            if security is not None:
                raise OptionError(
                    f"hosts: {hosts} makes its own certificates; leave out tls and security"
                )
            self._crew = _open_own(choice, given)
        else:
            address = choice.client if choice.kind == "client" else choice.address
            crews = load_cluster("dask_crew")
            self._crew = crews.DaskCrew.connect(
                address, security=security, insecure=insecure, **given
            )

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return int(self._crew.size)

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        heard: Callable[[list[Any]], None] | None = None,
    ) -> list[Any]:
        """``function(peers, *args)`` on all ranks at once; what each returned. What a rank raises
        is raised here; :class:`~penstock.errors.WorkerError` if one is lost. ``heard`` is called
        with what the first rank passes to ``peers.tell``, perhaps in another thread.
        """
        found: list[Any] = self._crew.run(function, *args, heard=heard)
        return found

    @property
    def dashboard(self) -> str | None:
        """The address of Dask's dashboard, if the cluster has one."""
        found: str | None = self._crew.dashboard
        return found

    def recover(self) -> int:
        """After a loss, take the workers that are left; returns how many ranks there are then.
        Waits a few seconds for workers that are restarted.
        """
        return int(self._crew.recover())

    def describe(self) -> list[dict[str, Any]]:
        """For each rank: its host, address, process, memory and threads, and Dask's dashboard."""
        found: list[dict[str, Any]] = self._crew.describe()
        return found

    def close(self) -> None:
        """End what was started. A cluster that existed before goes on."""
        self._crew.close()

    def __enter__(self) -> Hosts:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@contextmanager
def open_hosts(given: Any) -> Iterator[Hosts]:
    """The hosts of one call: those given, which are kept; or new ones, closed after the call."""
    if isinstance(given, Hosts):
        yield given
        return
    with Hosts(given) as hosts:
        yield hosts


def load_cluster(name: str) -> Any:
    """A module of this package that needs Dask; without it, the error names the extra."""
    try:
        return import_module(f"penstock.distributed.{name}")
    except ImportError as error:
        raise OptionError(
            f"hosts: dask and distributed are needed and not installed ({error}); install them "
            "with `pip install 'penstock[cluster]'`"
        ) from None


def _checked_patience(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 1:
        raise OptionError(
            f"patience: {value!r} was given; it must be a number of seconds, 1 or more"
        )
    return float(value)


def _make_security(tls: Any, security: Any) -> Any:
    if security is not None:
        raise OptionError("tls: both tls and security were given; give one of them")
    if isinstance(tls, str | os.PathLike):
        tls = load_cluster("tls").tls_from_folder(tls)
    return load_cluster("dask_security").make_security(tls)


def _open_own(choice: HostChoice, given: dict[str, Any]) -> Any:
    """A crew on a cluster that is started for it and ends with it."""
    threads = given["threads"]
    module = load_cluster("ssh_cluster" if choice.kind == "ssh" else "slurm")
    step = None if choice.kind == "ssh" else module.find_step(os.environ)
    if step is not None and step.rank > 0:
        module.become_worker(step, threads=threads)
    crews = load_cluster("dask_crew")
    if step is None:
        cluster = module.SshCluster(choice.names, threads=threads)
    else:
        cluster = module.SlurmCluster(step)
    try:
        return crews.DaskCrew.connect(
            cluster.address,
            security=_make_security(cluster.tls, None),
            cluster=cluster,
            expected=crews.Expected(cluster.names, module.JOIN_SECONDS, cluster.check),
            **given,
        )
    except BaseException:
        cluster.close()
        raise
