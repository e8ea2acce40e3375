"""The journal of a run: typed records, one writer, one reader. The format is described in docs/journal.md.

Example:
    >>> import tempfile
    >>> from kernelpoint.journal import DegradedRecord, JournalWriter, read_records
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = JournalWriter(f"{folder}/run.kpjournal", resume=True)
    ...     journal.write(RunRecord(kernelpoint="0.1.0", config={}, bound="none", estimate="mean", launches=[9], hashes={}))
    ...     journal.write(DegradedRecord(reason="an example"))
    ...     journal.close()
    ...     [type(record).__name__ for record in read_records(f"{folder}/run.kpjournal")]
    ['RunRecord', 'DegradedRecord']
"""

from kernelpoint.journal.launch_estimates import LaunchEstimates
from kernelpoint.journal.reader import read_records
from kernelpoint.journal.records import (
    AbortRecord,
    DecisionRecord,
    DegradedRecord,
    EstimateRecord,
    FurtherValidationsRecord,
    HostRecord,
    KernelRecord,
    LaunchesRecord,
    LeftOutRecord,
    LookRecord,
    OpenLaunchRecord,
    PartRecord,
    PassRecord,
    PopulationRecord,
    ProjectionRecord,
    RangeRecord,
    Record,
    ReplayErrorRecord,
    ResultRecord,
    ResumeRecord,
    RunRecord,
    StrataRecord,
    SummaryRecord,
    ValidationRecord,
)
from kernelpoint.journal.run import Run, load_run
from kernelpoint.journal.writer import JournalWriter

__all__ = [
    "AbortRecord",
    "DecisionRecord",
    "DegradedRecord",
    "EstimateRecord",
    "FurtherValidationsRecord",
    "HostRecord",
    "JournalWriter",
    "KernelRecord",
    "LaunchEstimates",
    "LaunchesRecord",
    "LeftOutRecord",
    "LookRecord",
    "OpenLaunchRecord",
    "PartRecord",
    "PassRecord",
    "PopulationRecord",
    "ProjectionRecord",
    "RangeRecord",
    "Record",
    "ReplayErrorRecord",
    "ResultRecord",
    "ResumeRecord",
    "Run",
    "RunRecord",
    "StrataRecord",
    "SummaryRecord",
    "ValidationRecord",
    "load_run",
    "read_records",
]
