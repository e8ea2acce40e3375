"""Launches in flight that a policy has stopped inside and projected."""

from __future__ import annotations

from collections.abc import Mapping

from kernelpoint.config import Config
from kernelpoint.errors import ConfigError
from kernelpoint.journal import ProjectionRecord, ResultRecord
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.projection import INTERVAL, PrincipalKernelProjection
from kernelpoint.workload.host_info import HostInfo


def check_projections(config: Config, policy: type[Policy], host: HostInfo) -> None:
    """Refuse to stop launches inside if the host cannot.

    Raises:
        ConfigError: names the parameter.
    """
    if policy.projects(config) and (not host.can_stop or host.concurrent):
        why = "lets kernel launches overlap" if host.concurrent else "cannot stop a launch inside"
        raise ConfigError(f"policy.project: got True, but this host {why}; allowed: False")


class Projections:
    """Follows launches in flight, stops and projects them.

    Args:
        is_on: False where the policy simulates launches whole; nothing is followed then.

    Attributes:
        count: results that are projections.
        saved_cycles: cycles of these that were not simulated.
    """

    def __init__(self, is_on: bool) -> None:
        self._followed: dict[int, PrincipalKernelProjection] = {}
        self._is_on = is_on
        self.interval = INTERVAL if is_on else 0  # cycles between the progress calls of a launch
        self.count = 0
        self.saved_cycles = 0.0

    def follow(self, unit: int) -> None:
        """A launch begins."""
        if self._is_on:
            self._followed.setdefault(unit, PrincipalKernelProjection())

    def stops(self, unit: int, *point: int) -> bool:
        """Take a point (cycles, instructions, issued, completed, total); whether the launch is to be stopped now."""
        launch = self._followed.get(unit)
        return launch is not None and launch.stops(*point)

    def is_stopped(self, unit: int) -> bool:
        """True if this launch was to be stopped."""
        launch = self._followed.get(unit)
        return launch is not None and launch.is_stopped

    def forget(self, unit: int) -> None:
        """A launch is no longer in flight."""
        self._followed.pop(unit, None)

    def result(
        self, unit: int, stopped: bool, counters: Mapping[str, float]
    ) -> tuple[dict[str, float], ProjectionRecord | None]:
        """The counters that enter the sample, and the journal's record of their projection, if they are one."""
        if not stopped:
            return dict(counters), None
        launch = self._followed[unit]
        return launch.project(counters), ProjectionRecord(launch.issued, launch.total, counters["cycles"])

    def take(self, record: ResultRecord) -> None:
        """A result of this process, or of the journal, is counted."""
        if record.projection is not None:
            self.count += 1
            self.saved_cycles += record.counters["cycles"] - record.projection.simulated_cycles

    def warnings(self) -> list[str]:
        """Warnings about the projections, for the summary."""
        if not self._is_on:
            return []
        if not self.count:
            return ["policy.project had no effect: no simulated launch was stopped"]
        return [f"{self.count} simulated launches are projections, whose error is not known: no bound"]
