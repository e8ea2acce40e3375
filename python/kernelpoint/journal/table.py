"""A run as a table of its launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelpoint.errors import SetupError
from kernelpoint.journal.launch_records import DecisionRecord

if TYPE_CHECKING:
    import pandas as pd

    from kernelpoint.journal.run import Run

OF_DECISION = (
    *("pass_index", "action", "stratum", "cluster", "stream"),
    *("u", "threshold", "take_all", "prediction", "x"),
)


def table_of(run: Run) -> pd.DataFrame:
    """One row for each launch of the list; see Run.to_frame.

    >>> import kernelpoint as kp
    >>> table = table_of(kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all"))
    >>> len(table), table["action"].unique().tolist()
    (6, ['simulate'])
    """
    try:
        import pandas as pd
    except ImportError:
        raise SetupError("to_frame needs pandas, which is not installed: pip install 'kernelpoint[pandas]'") from None
    rows: list[dict[str, Any]] = [
        {"process": process, "launch": launch} for process, count in enumerate(run.launches) for launch in range(count)
    ]
    for decision in run.of(DecisionRecord):
        rows[run.unit(decision)] |= {name: getattr(decision, name) for name in OF_DECISION}
    for unit, stratum in zip(run.screened.units, run.screened.strata, strict=True) if run.screened else ():
        rows[unit]["stratum"] = stratum
    for unit, row in enumerate(rows):
        result = run.results.get(unit)
        row["simulated"] = result is not None
        row.update(result.counters if result else {})
    if (estimates := run.launch_estimates) is not None:
        for unit, (row, cycles) in enumerate(zip(rows, estimates.cycles.tolist(), strict=True)):
            row |= {
                "kernel": run.name_of(unit),
                "estimated_cycles": cycles,
                "stratum": int(estimates.strata[unit]),
            }
    columns = ["process", "launch", "kernel", *OF_DECISION, "simulated", "estimated_cycles", *run.counters]
    return pd.DataFrame(rows, columns=columns)
