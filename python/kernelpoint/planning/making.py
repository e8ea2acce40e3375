"""The plan of a run: made from its inputs, or read from where it was kept."""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint import __version__
from kernelpoint.config import Config
from kernelpoint.errors import PlanError
from kernelpoint.estimation import AssistedDesign, Design
from kernelpoint.planning.plan import Plan
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.processes import design_of
from kernelpoint.pool import Pool
from kernelpoint.program import Program
from kernelpoint.progress import Log, WorkProgress
from kernelpoint.registry import foreign_code
from kernelpoint.simulators import simulator
from kernelpoint.traces import cache_folder, scan_launches
from kernelpoint.traces.scan import passing
from kernelpoint.workload import Available, Need, check_available, complete
from kernelpoint.workload.host_info import HostInfo

LEAST_SECONDS = 5.0  # Model: processor time that a plan and the least sample take


@dataclass(frozen=True)
class PlanInputs:
    """Inputs of a plan that has not been made yet.

    Attributes:
        needs: kinds of input that the sampling policy asks for.
        origin: names and values of everything that the plan depends on. Runs with equal origins have equal plans.
        pool: worker processes that read, embed and predict; None: this process does so. The plan does not depend on it.

    >>> from kernelpoint.config import parse_config
    >>> from kernelpoint.policies.registry import load_policy
    >>> config = parse_config({"version": 1, "policy": "random"}, "keys")
    >>> inputs = PlanInputs.of(config, load_policy("random"), Program((6,)))
    >>> inputs.origin["launches"], inputs.make(print).design.sizes.tolist()
    ([6], [6])
    """

    config: Config
    policy: type[Policy]
    program: Program
    needs: frozenset[Need]
    origin: dict[str, Any]
    pool: Pool | None = None

    @classmethod
    def of(
        cls,
        config: Config,
        policy: type[Policy],
        program: Program,
        option: str = "`profile:`",
        pool: Pool | None = None,
    ) -> PlanInputs:
        """Collect everything that a plan depends on.

        Args:
            config: configuration of the run.
            policy: sampling policy.
            program: launches of the run.
            option: name of the option by which the user gives a profile, for messages.
            pool: worker processes that read, embed and predict; None: this process does so.

        Raises:
            ConfigError: the policy reads traces and there is no list on disk.
            PolicyError: the policy lacks another input.
        """
        available = Available.of(program, config)
        needs = policy.inputs(available)
        check_available(config.policy.name, needs, available, option)
        return cls(config, policy, program, needs, origin_of(config, policy, program, needs), pool)

    def kept(self, log: Log) -> Plan | None:
        """Plan with these inputs from the cache; None if the cache has none. A damaged plan is reported and ignored."""
        path = cache_path(self.origin, self.program.fingerprint.files)
        try:
            return Plan.load(path, self.program) if os.path.exists(path) else None
        except PlanError as error:
            log(f"kernelpoint: the cached plan is made again: {error}")
            return None

    def make(self, log: Log) -> Plan:
        """Make the plan: read the inputs that the policy asks for, then let the policy make its design.

        A launch with an unreadable trace is ordered in every case, attempted at most twice, and then left out with a wider
        bound; it represents no other launch. Where damage would end the simulator, an attempt only reads the trace. If the
        policy reads no traces, the traces on disk are still read for input checks, for kernel names and for counters that
        follow from them; the design does not depend on them.
        """
        program = complete(self.program, self.needs, self.config.encoder, log, pool=self.pool)
        design = design_of(self.policy(self.config), program)
        is_read = program.contents is not None
        if is_read and program.errors:
            design = design.as_take_all(np.array(sorted(program.errors)))
        return replace(self.with_design(design, program, log), knows_errors=is_read)

    def with_design(self, design: Design | AssistedDesign, program: Program, log: Log) -> Plan:
        """Make the plan from a design. The traces that are on disk are read for input checks, kernel names and counters."""
        if program.contents is None and program.has_traces:
            shown = WorkProgress("reading", "traces", log)
            program = program.with_contents_of(scan_launches(program.traces, progress=shown, log=log, pool=self.pool))
        embeddings = program.embeddings
        return Plan(
            replace(program, predictions=self.program.predictions, embeddings=self.program.embeddings),
            design,
            self.origin,
            stream_map=None if embeddings is None else _principal_plane(embeddings),
        )


def plan_for(
    config: Config,
    policy: type[Policy],
    program: Program,
    log: Log,
    begun_with: str | None = None,
    pool: Pool | None = None,
) -> Plan:
    """Find or make the plan of a run. The first of these that applies is used:

    1. The plan that the configuration names, if it was made for this run.
    2. In a resumed run, the plan that the run began with, even if the error budget has changed since.
    3. The plan in the cache, or else a new one that is stored there, for a policy that reads traces or whose design depends on
      the budget.
    4. A new plan, for other policies: it is faster to make than to read.

    Args:
        begun_with: path of the plan that a resumed run began with; None for a new run.
        pool: worker processes that read, embed and predict; None: this process does so.

    Raises:
        PlanError: the named plan was made for another run; the message names each difference.
        ConfigError, PolicyError: raised by `PlanInputs.of`.
    """
    inputs = PlanInputs.of(config, policy, program, pool=pool)
    if config.fast_model != "off":
        _say_which_inputs(policy, program, config, log)
    if config.plan is not None:
        plan = Plan.load(config.plan, program)
        check_origin(config.plan, plan.origin, inputs.origin, log)
        if unread := passing(plan.unreadable.values()):
            log(
                f"kernelpoint: {config.plan}: {len(unread):,} launches are ordered for certain, because their traces could "
                f"not be opened or read when the plan was made; make it again. The first: {unread[0]}"
            )
        return plan
    if begun_with is not None and os.path.exists(begun_with):
        with suppress(PlanError):  # of another list; the journal is then refused by what differs
            begun = Plan.load(begun_with, program)
            if {**begun.origin, "error_budget": None} == {**inputs.origin, "error_budget": None}:
                return begun
    if not (Need.TRACES in inputs.needs or policy.uses_budget):
        return inputs.make(log)
    kept = inputs.kept(log)
    return keep_plan(inputs.make(log), log) if kept is None else kept


def full_plan(config: Config, policy: type[Policy], host: HostInfo, program: Program, log: Log) -> Plan | None:
    """Plan that simulates every launch, if the full simulation is expected to take less than LEAST_SECONDS; else None.

    Only for KernelPoint's default policy, and for simulators with a detailed model of their cores: there, plans cost most and
    restored caches have the largest error. The expected time follows from the simulator's cost for each instruction of the
    traces.
    """
    described = simulator(host.simulator)
    if config.policy.name != "kernelpoint" or config.plan is not None or not program.has_traces:
        return None
    if described.cores is None or described.costs is None:
        return None
    scan = scan_launches(program.traces, log=log)
    instructions = scan.count(described.costs.instructions).astype(float)
    seconds = described.costs.seconds(len(instructions), float(instructions.sum()), is_full_run=True)
    if scan.errors or seconds >= LEAST_SECONDS:
        return None
    log(
        f"kernelpoint: a full run takes about {seconds:.2g} s of processor time, which a plan and a sample would take as well: "
        "every launch is simulated"
    )
    inputs = PlanInputs.of(config, policy, program)
    return inputs.with_design(Design.take_all(program.u), program.with_contents_of(scan), log)


def _say_which_inputs(policy: type[Policy], program: Program, config: Config, log: Log) -> None:
    """Print a line if a policy lacks the fast model's predictions, or does not use the named profile."""
    available = Available.of(program, config)
    if policy.inputs(Available(traces=True)) and not policy.inputs(available):
        log(
            "kernelpoint: nothing is known of the launches but their number, so they are sampled at random; a simulator that "
            "describes them (name, shape, cost), or a `profile:`, makes the sample smaller"
        )
        return
    uses = Need.MODEL in policy.inputs(Available(traces=True, model=True))
    if uses and available.model and config.profile not in (None, "model"):
        log(
            f"kernelpoint: profile: {config.profile} is not used, because the fast model predicts every launch on this GPU; "
            "`fast_model: off` uses it"
        )
    if uses and program.amounts is None and available.why_no_model is not None:
        log(f"kernelpoint: the estimate does not use the fast model's predictions: {available.why_no_model}")


def keep_plan(plan: Plan, log: Log) -> Plan:
    """Store a plan in the cache. Returns the plan with the path of its file; without a path if the file cannot be written."""
    cached, unread = cache_path(plan.origin, plan.program.fingerprint.files), plan.program.unread
    if unread:
        log(
            f"kernelpoint: {len(unread):,} traces could not be opened or read; the next run tries them again. "
            f"The first: {unread[0]}"
        )
        missing = hashlib.blake2b("\n".join(unread).encode(), digest_size=8).hexdigest()
        cached = cached.with_name(f"{cached.stem}-without-{missing}.kpplan")
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        if cached.parent.is_symlink():
            raise OSError(errno.EINVAL, "is a link; expected a folder of the cache", str(cached.parent))
        plan.save(cached)
    except (OSError, PlanError) as error:
        log(f"kernelpoint: the plan cannot be kept for other runs: {error}")
        return plan
    return replace(plan, path=str(cached))


def origin_of(config: Config, policy: type[Policy], program: Program, needs: frozenset[Need]) -> dict[str, Any]:
    """Names and values of everything that a plan depends on. Runs with equal origins have equal plans.

    Args:
        needs: kinds of input that the policy uses among those available (`Policy.inputs`).
    """
    origin: dict[str, Any] = {
        "kernelpoint": __version__,
        "policy": config.policy.written(),
        "seed": config.seed,
        "assume": config.assume,
        "launches": list(program.counts),
        "traces": program.fingerprint.launches,
    }
    if (code := foreign_code(policy)) is not None:
        origin["policy_code"] = code
    if program.source:
        origin["profile"] = program.hash()
    if program.amounts is not None:
        origin["deterministic"] = program.is_deterministic
    if policy.uses_budget:
        origin["error_budget"] = {key: getattr(config.error_budget, key) for key in ("relative_error", "confidence")}
    if Need.MODEL in needs and program.predictor is not None:
        origin["fast_model"] = program.predictor.dependencies()
    if Need.EMBEDDINGS in needs:
        from kernelpoint.encoder import checkpoint_hash

        origin["checkpoint"] = checkpoint_hash(config.encoder.checkpoint)
    return origin


def check_origin(path: str, origin: dict[str, Any], wanted: dict[str, Any], log: Log) -> None:
    """Raise an error for a plan that was made for other launches, another policy or another seed.

    A plan may be used with any error budget and any simulated GPU: predictions for another GPU make the sample larger, but not
    the bound wrong.

    Args:
        path: file of the plan or of the selection (the plan of launches to trace), for the message.
        origin: names and values of everything that the plan depends on.
        wanted: the same for this run.

    Raises:
        PlanError: names each difference.
    """
    differing = [
        f"{key}: it has {origin.get(key)!r}, this run {wanted.get(key)!r}"
        for key in sorted(origin.keys() | wanted.keys())
        if origin.get(key) != wanted.get(key) and key not in ("error_budget", "fast_model")
    ]
    if differing:
        raise PlanError(f"{path} was made for another run:\n" + "\n".join(differing))
    if "fast_model" in origin and origin["fast_model"] != wanted.get("fast_model"):
        model = origin["fast_model"]
        log(
            f"kernelpoint: {path}: its predictions are for another simulated GPU ({model['configuration']}, "
            f"{model['config_hash']}); that may cost more simulated launches, not coverage"
        )


def cache_path(origin: dict[str, Any], files: str) -> Path:
    """Path in the cache of the plan with this origin (names and values of everything that the plan depends on).

    Args:
        files: hash of the trace files' names, sizes, times and inodes (Fingerprint.files).
    """
    name = hashlib.blake2b(repr((*sorted(origin.items()), files)).encode(), digest_size=16).hexdigest()
    return cache_folder() / "plans" / f"{name}.kpplan"


def _principal_plane(embeddings: np.ndarray) -> np.ndarray:
    """The plane on which the embeddings spread most (PCA), for pictures only."""
    centred = embeddings - embeddings.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    plane = np.zeros((len(embeddings), 2), dtype=np.float32)
    plane[:, : min(2, len(axes))] = centred @ axes[:2].T
    return plane
