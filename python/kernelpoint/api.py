"""Public names of the library (`import kernelpoint as kp`). Each is imported at its first use.

Example:
    >>> import kernelpoint as kp
    >>> kp.load_policy("random").__name__
    'Random'
    >>> run = kp.Run.load("run.kpjournal")  # doctest: +SKIP
    >>> run.to_frame().groupby("kernel")["estimated_cycles"].sum()  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelpoint import journal
from kernelpoint.admission import ListFiles, admit, check_kinds, findings_of
from kernelpoint.arguments import checked
from kernelpoint.config import Config, parse_config
from kernelpoint.errors import ConfigError, shown
from kernelpoint.estimation import AssistedDesign, ErrorBudget
from kernelpoint.extras import needs_extra
from kernelpoint.fast_model.configuration import architecture_of
from kernelpoint.planning import plan as plans
from kernelpoint.planning.making import PlanInputs
from kernelpoint.policies.registry import load_policy
from kernelpoint.pool import Pool
from kernelpoint.progress import Log, silent
from kernelpoint.session.rehearsal import forecasts
from kernelpoint.workload import Need, complete, program_for
from kernelpoint.workload.host_info import HostInfo

if TYPE_CHECKING:
    import altair as alt

    from kernelpoint.evaluation.evaluate import MethodResult
    from kernelpoint.paired import Comparison

MOST_SEEDS = 1_000_000


class Run(journal.Run):
    """Run as its journal (the file of its decisions and results) records it. A notebook shows its verdict and its table of
    counters.

    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="random", error_budget={"relative_error": 0.05})
    >>> run = kp.Run.load("run.kpjournal")
    >>> run.policy, run.ended().launches, run.ended().met
    ('random', 6, True)
    """

    @classmethod
    @checked
    def load(cls, path: str | Path) -> Run:
        """Read the journal of a run.

        Raises:
            JournalError: the journal is missing, empty or damaged.
        """
        loaded = journal.load_run(path)
        return cls(loaded.path, loaded.records)

    @checked
    def plot(self, chart: str = "share") -> alt.Chart | alt.LayerChart:
        """Make a chart of the run with Altair.

        Args:
            chart: share (cycles of each kernel), timeline (launches along the run), passes (interval after each round of
                sampling), or map (similar instruction sequences near each other).

        Raises:
            ConfigError: the chart is unknown, or this run has no data for it.
            JournalError: the run has not ended.
            SetupError: the extra `report` is not installed.
        """
        with needs_extra("Run.plot"):
            import altair as alt

        from kernelpoint.report.charts import charts
        from kernelpoint.report.result import result_of

        made = charts(result_of(self))
        if chart not in made:
            raise ConfigError(f"chart: got {shown(chart)}; allowed: {', '.join(made)}")
        return alt.Chart.from_dict({**made[chart], "width": 600})

    def _repr_html_(self) -> str:
        """The verdict and the counters, for a notebook."""
        from kernelpoint.report.tables import counter_table
        from kernelpoint.report.text import sentences

        lines = "".join(f"<p>{escape(line)}</p>" for line in sentences(self))
        return lines + counter_table(self).html()


class Plan(plans.Plan):
    """Sampling plan of a run, as `kernelpoint plan` makes it: predictions, strata (groups of launches sampled separately) and
    first sample.

    >>> import kernelpoint as kp
    >>> plan = kp.Plan.from_traces("traces/kernelslist.g", policy="gcl")
    >>> len(plan.stream_hashes), plan.cluster_of_unit().tolist()
    (1, [0, 0, 0, 0, 0, 0])
    """

    @classmethod
    @checked
    def from_traces(
        cls,
        traces: str | Path,
        policy: str | dict[str, Any] = "kernelpoint",
        gpu: Sequence[str] = (),
        log: Log = silent,
        **keys: Any,
    ) -> Plan:
        """Make the sampling plan of a trace list: read every launch once, predict or cluster the launches, and draw the first
        sample.

        Args:
            traces: a kernelslist.g, or a folder of kernel-N.traceg files.
            policy: name of a policy, or a mapping of its name and its parameters.
            keys: other keys of kernelpoint.yaml (`seed=1`, `error_budget={"relative_error": 0.05}`).
            gpu: the simulated GPU: v100, rtx, or a configuration file, as in `kernelpoint plan --gpu`.
            log: function that receives lines for the user.

        Raises:
            TraceError: the list cannot be read.
            ConfigError: a key is refused.
        """
        config = parse_config({"version": 1, "policy": policy, **keys}, "keys")
        return cls.from_config(traces, config, gpu, log)

    @classmethod
    def from_config(
        cls,
        traces: str | Path,
        config: Config,
        gpu: Sequence[str],
        log: Log,
        option: str = "`profile:`",
        pool: Pool | None = None,
        state: Log | None = None,
    ) -> Plan:
        """Make the plan that a run with this configuration would make.

        Args:
            traces: a trace list, or its folder.
            config: configuration of the run.
            gpu: files that describe the simulated GPU.
            log: function that receives lines for the user.
            option: name of the key or option by which the user gives a profile, for messages.
            pool: worker processes that read, embed and predict (kernelpoint.coordinator); None: this process does so.
            state: function that receives the defects of the input, one line each, in place of `log`.

        Raises:
            ConfigError: the configuration names a selection (plan made before tracing).
            PolicyError: the policy lacks an input.
            AdmissionError: a defect of the list is too large for a run.
            BudgetError: so little of the list can be read that no error budget can be met.
        """
        if config.selection is not None:
            raise ConfigError(
                f"selection: got {config.selection!r}, which already contains a plan, so none can be made; remove the key to "
                "make a plan, or run with the selection and without a plan"
            )
        chosen = load_policy(config.policy)
        from kernelpoint.fast_model import stated_by

        # stand-in for the simulator of a later run: it describes the same simulated GPU
        stated: dict[str, Any] = dict(stated_by(list(gpu))) if gpu else {"simulator": "the simulator"}
        host = HostInfo(list_paths=(str(traces),), **stated)
        program = program_for(config, host, log, pool)
        check_kinds(config.accept, "accept")
        of_gpu = architecture_of(host.simulator, host.configuration, host.config_hash) if gpu else 0
        inputs = PlanInputs.of(config, chosen, program, option, pool)
        made = inputs.kept(log)
        if made is None or made.program.contents is None:
            needs = inputs.needs | {Need.TRACES}  # names, for reports
            program = complete(program, needs, config.encoder, log, pool=pool)
            made = replace(inputs, program=program).make(log)
        elif not isinstance(made.design, AssistedDesign):
            program = complete(made.program, inputs.needs, config.encoder, log, pool=pool)
        admit(findings_of(ListFiles(made.program, of_gpu)), config.accept, state or log, "")
        made = replace(made, forecast=forecasts(config, chosen, program, made))
        return cls(**{one.name: getattr(made, one.name) for one in fields(made)})


@checked
def cluster(traces: str | Path, policy: str | dict[str, Any] = "kernelpoint", **keys: Any) -> np.ndarray:
    """Cluster (group of similar launches) of each launch under a sampling policy, int64 [N].

    Launches that are always simulated have the highest number. The arguments are those of `Plan.from_traces`.

    >>> import kernelpoint as kp
    >>> kp.cluster("traces/kernelslist.g", "gcl")
    array([0, 0, 0, 0, 0, 0])
    """
    return Plan.from_traces(traces, policy, **keys).cluster_of_unit()


@checked
def simulate(
    traces: str | Path,
    journal_path: str | Path,
    gpu: str = "v100",
    policy: str | dict[str, Any] = "kernelpoint",
    log: Log = silent,
    **keys: Any,
) -> Run:
    """Simulate a trace list in this process with the embedded host, KernelPoint's small simulator, and return the run.

    After Ctrl-C the same call resumes the run from its journal; so does the program `kernelpoint-host`. If a launch cannot be
    simulated, the run continues without it with a wider bound, and `degraded` names the launch.

    Args:
        traces: a kernelslist.g, or a folder of kernel-N.traceg files.
        journal_path: path of the journal (record of the run); an existing journal is resumed.
        gpu: v100, rtx, a YAML file, or the configuration file of a simulator.
        policy: name of a sampling policy, or a mapping of its name and its parameters; `all` simulates every launch.
        keys: other keys of kernelpoint.yaml.
        log: function that receives lines for the user.

    Raises:
        ConfigError: a key or the simulated GPU is refused.
        TraceError: the list cannot be read.
        JournalError: the journal cannot be written, or belongs to another run.

    >>> import kernelpoint as kp
    >>> run = kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all")
    >>> run.ended().simulated, run.ended().half_width
    (6, 0.0)
    """
    from kernelpoint.fast_model.configuration import configuration_of_host
    from kernelpoint.python_host import InProcess
    from kernelpoint.session.boundary import command_line, open_run

    config = parse_config({"version": 1, "policy": policy, "journal": str(journal_path), **keys}, "keys")
    host = InProcess(str(traces), configuration_of_host(gpu))
    host.session = session = open_run(config, host.host, log, command=command_line())
    try:
        session.drive(host.simulate)
    except KeyboardInterrupt:
        log(f"interrupted; results in {journal_path} are kept, and the same call resumes")
        raise
    finally:
        session.journal.close()
    return Run.load(journal_path)


@checked
def compare_runs(first: journal.Run | str | Path, second: journal.Run | str | Path) -> Comparison:
    """Compare two sampled runs of one trace list on two simulated GPUs. Launches simulated in both runs are compared in pairs.

    Args:
        first, second: runs, or paths of their journals.

    Returns:
        Comparison, whose `rows` have for each counter both totals, their ratio (second over first) and their difference, with
        half-widths.

    Raises:
        JournalError: a journal cannot be read, a run has not ended or states no bound, or list, plan, seed or policy differ.

    >>> import kernelpoint as kp
    >>> runs = [kp.simulate("traces/kernelslist.g", f"{gpu}.kpjournal", gpu, "all") for gpu in ("v100", "rtx")]
    >>> cycles = kp.compare_runs(*runs).rows[0]
    >>> cycles.counter, cycles.ratio.estimate < 1.0, cycles.ratio.half_width
    ('cycles', True, 0.0)
    """
    from kernelpoint import paired

    a, b = (run if isinstance(run, journal.Run) else Run.load(run) for run in (first, second))
    return paired.compare_runs(a, b)


@checked
def compare(
    workload: Mapping[str, str] | str,
    policies: Sequence[str],
    budgets: Sequence[float] = (0.01,),
    seeds: int = 10,
    confidence: float = 0.95,
    log: Log = silent,
) -> list[MethodResult]:
    """Compare sampling methods on a workload whose full run is known. Returns one row for each method, error budget and seed.

    Args:
        workload: a file with the cycles of every launch in the full run, or the keys of `kernelpoint compare -w` (truth,
            traces, profile, ...).
        policies: names of the methods.
        budgets: error budgets, as relative errors.
        seeds: number of runs at each budget, with seeds 0, 1, ...
        confidence: confidence level of the bounds.
        log: function that receives lines for the user.

    Raises:
        ConfigError: the workload has no full run, a policy is unknown, or a number is not allowed.

    >>> import kernelpoint as kp
    >>> _ = kp.simulate("traces/kernelslist.g", "full.kpjournal", policy="all")
    >>> rows = kp.compare({"truth": "full.kpjournal", "traces": "traces/kernelslist.g"}, ["random"], [0.05], seeds=2)
    >>> len(rows)
    2
    """
    from kernelpoint.evaluation.evaluate import ResultsFile, cells
    from kernelpoint.evaluation.evaluate import compare as compare_workload
    from kernelpoint.evaluation.workload import load_workload, parse_request

    text = workload if isinstance(workload, str) else ",".join(f"{key}={value}" for key, value in workload.items())
    request = parse_request(text)
    if not 1 <= seeds <= MOST_SEEDS:
        raise ConfigError(f"seeds (number of plans to draw): got {shown(seeds)}; allowed: 1 to {MOST_SEEDS:,}")
    for name in policies:
        load_policy(name)
    for budget in budgets:
        ErrorBudget(budget, confidence)
    wanted = list(cells(policies, budgets, seeds, confidence, None))
    return list(compare_workload(load_workload(request, False, log), wanted, ResultsFile(None), log))
