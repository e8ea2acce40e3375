"""A launch on a GPU of S slots, CTA by CTA: enough to know the truth that a projection aims at."""

import heapq
from dataclasses import dataclass

import numpy as np

from kernelpoint.policies.early_stop import PrincipalKernelProjection


@dataclass(frozen=True)
class Launch:
    """CTAs issue in order, one a cycle, as slots free; each runs for its own number of cycles, at one instruction a cycle."""

    durations: np.ndarray
    slots: int
    latency: int = 5000

    def times(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Times at which each of the first `count` CTAs issues and ends."""
        issue, end, running, free = np.zeros(count), np.zeros(count), [], float(self.latency)
        for i in range(count):
            if len(running) == self.slots:
                free = max(free, heapq.heappop(running))
            issue[i], end[i] = free, free + self.durations[i]
            heapq.heappush(running, end[i])
            free += 1.0
        return issue, end

    def cycles(self, count: int | None = None) -> float:
        """Of the whole launch, or of its first CTAs alone."""
        return float(self.times(len(self.durations) if count is None else count)[1].max())

    def instructions(self, count: int | None = None) -> float:
        """Thread instructions of the first CTAs."""
        return float(self.durations[:count].sum())

    def run(self, followed: PrincipalKernelProjection, interval: int = 100) -> dict[str, float] | None:
        """Follow the launch; its projected counters where it was stopped."""
        issue, end = self.times(len(self.durations))
        for now in range(self.latency, int(end.max()), interval):
            started, done = int((issue <= now).sum()), int((end <= now).sum())
            if started == len(issue):
                break
            work = float(np.clip(now - issue[:started], 0, self.durations[:started]).sum())
            if followed.stops(now, int(work), started, done, len(issue)):
                amounts = {"cycles": self.cycles(started), "instructions": self.instructions(started), "ctas": started}
                return followed.project(amounts)
        return None
