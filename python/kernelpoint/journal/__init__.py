"""The journal of a run: typed records, one writer, one reader. The format is described in docs/formats.md.

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

from kernelpoint.journal.reader import read_records as read_records
from kernelpoint.journal.records import DecisionRecord as DecisionRecord
from kernelpoint.journal.records import DegradedRecord as DegradedRecord
from kernelpoint.journal.records import FurtherValidationsRecord as FurtherValidationsRecord
from kernelpoint.journal.records import HostRecord as HostRecord
from kernelpoint.journal.records import KernelRecord as KernelRecord
from kernelpoint.journal.records import LaunchesRecord as LaunchesRecord
from kernelpoint.journal.records import LeftOutRecord as LeftOutRecord
from kernelpoint.journal.records import LookRecord as LookRecord
from kernelpoint.journal.records import OpenLaunchRecord as OpenLaunchRecord
from kernelpoint.journal.records import Outcome as Outcome
from kernelpoint.journal.records import PassRecord as PassRecord
from kernelpoint.journal.records import PopulationRecord as PopulationRecord
from kernelpoint.journal.records import ProjectionRecord as ProjectionRecord
from kernelpoint.journal.records import RangeRecord as RangeRecord
from kernelpoint.journal.records import Record as Record
from kernelpoint.journal.records import ResumeRecord as ResumeRecord
from kernelpoint.journal.records import RunRecord as RunRecord
from kernelpoint.journal.records import StrataRecord as StrataRecord
from kernelpoint.journal.records import SummaryRecord as SummaryRecord
from kernelpoint.journal.run import LaunchEstimates as LaunchEstimates
from kernelpoint.journal.run import Run as Run
from kernelpoint.journal.run import load_run as load_run
from kernelpoint.journal.writer import JournalWriter as JournalWriter
