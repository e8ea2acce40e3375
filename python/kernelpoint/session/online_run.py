"""Whether a run is online, and what is fixed when it opens."""

from __future__ import annotations

from dataclasses import dataclass

from kernelpoint import __version__
from kernelpoint.config import Config
from kernelpoint.errors import ConfigError
from kernelpoint.estimation import ErrorBudget, Method
from kernelpoint.policies.registry import load_policy
from kernelpoint.session.first_pass import PROBABILITY
from kernelpoint.session.host_info import HostInfo
from kernelpoint.session.journal import Record


def is_online(config: Config, host: HostInfo) -> bool:
    """Whether the launches are to be taken as they come: asked for, or nothing else is possible.

    Raises:
        ConfigError: it was asked for, and the policy, or another key, does not go with it.
    """
    policy = load_policy(config.policy)
    able = policy.online
    if config.clusters == "online" and not able:
        raise ConfigError(f"clusters: got 'online'; policy {config.policy} plans beforehand, allowed: auto, plan")
    if config.clusters == "online" and (named := [k for k in ("plan", "profile") if getattr(config, k) is not None]):
        raise ConfigError(
            f"{named[0]}: got {getattr(config, named[0])!r}; with `clusters: online` nothing is known beforehand"
        )
    unknown = config.plan is None and config.profile is None and all(path is None for path in host.list_paths)
    online = config.clusters == "online" or (config.clusters == "auto" and able and unknown)
    if online and host.process_count > 1 and not all(host.launch_counts):
        raise ConfigError("clusters: online needs the number of launches of each process where a host runs several")
    return online


@dataclass(frozen=True)
class OnlineRun:
    """What is fixed when an online run opens."""

    config: Config
    host: HostInfo
    budget: ErrorBudget
    estimate: Method

    def record(self) -> Record:
        """The journal's first record; launches that the host did not count stand as 0 until the `population` record."""
        from kernelpoint.encoder import checkpoint_hash

        host = {"simulator": self.host.simulator, "version": self.host.version, "lists": list(self.host.list_paths)}
        return {
            "type": "run",
            "version": 1,
            "kernelpoint": __version__,
            "config": self.config.model_dump(),
            "bound": self.budget.bound,
            "estimate": self.estimate,
            "host": host,
            "launches": list(self.host.launch_counts),
            "online": {"probability": PROBABILITY},
            "hashes": {
                "simulator_config": self.host.config_hash,
                "checkpoint": checkpoint_hash(self.config.encoder.checkpoint),
            },
        }
