"""Knowledge of launches from elsewhere: per-launch times and counters of profilers and of full simulations.

`read_profile` recognises the format by its content. Readers convert units once, to nanoseconds and bytes. A profile
lists kernel
launches of one GPU in program order:

- copies and memsets are no kernel launches: every reader leaves them out and counts them in `Profile.left_out`;
- kernels of communication wait for other GPUs, so their times say little about themselves. Readers keep them, because they are
  launches like any other; `Profile.without_communication` drops them, and `kernelpoint compare` does so unless told not to.

Readers judge nothing: what a file shows of its own soundness is in `Profile.remarks`, and `kernelpoint.admission` says what
follows from it.
"""

from kernelpoint.profiles.builder import ProfileBuilder as ProfileBuilder
from kernelpoint.profiles.format import NOT_THIS as NOT_THIS
from kernelpoint.profiles.format import SIGNATURE as SIGNATURE
from kernelpoint.profiles.format import STRUCTURE as STRUCTURE
from kernelpoint.profiles.format import WORDS as WORDS
from kernelpoint.profiles.format import Beginning as Beginning
from kernelpoint.profiles.format import ProfileFormat as ProfileFormat
from kernelpoint.profiles.format import TextFormat as TextFormat
from kernelpoint.profiles.format import open_decompressed as open_decompressed
from kernelpoint.profiles.matching import Matching as Matching
from kernelpoint.profiles.matching import kinds_of as kinds_of
from kernelpoint.profiles.matching import match as match
from kernelpoint.profiles.profile import Launches as Launches
from kernelpoint.profiles.profile import Profile as Profile
from kernelpoint.profiles.profile import Remark as Remark
from kernelpoint.profiles.read import read_profile as read_profile
