"""Profiles: times and counters of every launch, measured by a profiler or by a full simulation.

`read_profile` recognises the format by its content, and returns a Program. Readers convert units once, to nanoseconds and
bytes. A profile lists kernel launches of one GPU in program order.

- Communication kernels wait for other GPUs, so their times say little about their own work. Readers keep them;
  `Program.without_communication` drops them, as `kernelpoint compare` does by default.
"""

from kernelpoint.profiles.format import NOT_THIS as NOT_THIS
from kernelpoint.profiles.format import SIGNATURE as SIGNATURE
from kernelpoint.profiles.format import STRUCTURE as STRUCTURE
from kernelpoint.profiles.format import WORDS as WORDS
from kernelpoint.profiles.format import Beginning as Beginning
from kernelpoint.profiles.format import ProfileFormat as ProfileFormat
from kernelpoint.profiles.format import TextFormat as TextFormat
from kernelpoint.profiles.format import open_decompressed as open_decompressed
from kernelpoint.profiles.format import read_profile as read_profile
from kernelpoint.profiles.matching import Matching as Matching
from kernelpoint.profiles.matching import kinds_of as kinds_of
from kernelpoint.profiles.matching import match as match
