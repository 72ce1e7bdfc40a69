"""Whether the host works alone: decided before each iteration, from what was measured so far."""

from __future__ import annotations

from penstock.engine.dealing import DynamicScheduler
from penstock.engine.device_group import DeviceGroup
from penstock.engine.dispatch import Strategy
from penstock.engine.division import all_pull, alpha
from penstock.engine.options import DispatchRule

#: T_pull / T_gpu for each GPU before anything is measured; of CPU devices, as their threads are.
GPU_RATIO = 4.0
#: Cheaper iterations say nothing about the time of an edge.
LEAST_COST = 0.02


class Dispatcher:
    """Decides for a team that is mixed. Times are in units of what the host needs to pull."""

    def __init__(self, team: DeviceGroup, rule: DispatchRule) -> None:
        assert isinstance(team.dealer, DynamicScheduler)
        self._team, self._dealer, self._rule = team, team.dealer, rule
        hosts = [each.spec for each in team.devices if not each.spec.pulls_only]
        others = [each.spec for each in team.devices if each.spec.pulls_only]
        speed = sum((spec.threads or 1) / spec.slowdown for spec in hosts)
        self._ratio = sum(
            GPU_RATIO if spec.has_own_memory else (spec.threads or 1) / spec.slowdown / speed
            for spec in others
        )
        #: Seconds of an iteration of the host's own ways over what it was expected to cost.
        self._unit: dict[Strategy, float] = {}

    def ratio(self) -> float:
        """T_pull / T_gpu: as measured, once both have had pages."""
        host, others = self._host_seconds(), self._others_seconds()
        return self._ratio if host is None or others is None else host / others

    def _host_seconds(self) -> float | None:
        return self._dealer.pull_seconds(range(self._team.host_streams))

    def _others_seconds(self) -> float | None:
        everyone = range(len(self._dealer.seconds))
        return self._dealer.pull_seconds(everyone[self._team.host_streams :])

    def host_alone(self, strategy: Strategy, cost: float, f: float, rho: float) -> bool:
        """Whether the host goes its own way; else all devices pull. ``cost`` is what that way
        costs, if to pull costs 1; f and rho are Garaph's.
        """
        if strategy == "pull" and self._rule == "time":
            return False
        if self._rule == "alpha":
            return alpha(f, rho, self.ratio()) < 1
        unit, host = self._unit.get(strategy), self._host_seconds()
        slower = 1.0 if unit is None or host is None else unit / host
        return not all_pull(cost * slower, 1.0, 1 / self.ratio())

    def took(self, strategy: Strategy, cost: float, seconds: float) -> None:
        """An iteration of the host alone took so long."""
        if cost >= LEAST_COST:
            self._unit[strategy] = seconds / cost
