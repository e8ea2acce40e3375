"""Knowledge of launches from elsewhere: per-launch times and counters of profilers and of full simulations.

`read_profile` recognises the format by its content. Readers convert units once, to nanoseconds and bytes. A profile
lists kernel
launches of one GPU in program order:

- copies and memsets are no kernel launches: every reader leaves them out and counts them in `Profile.left_out`;
- kernels of NCCL wait for other GPUs, so their times say little about themselves. Readers keep them, because they are
  launches like any other; `Profile.without_communication` drops them, and `kernelpoint compare` does so unless told not to.
"""

from kernelpoint.profiles.builder import ProfileBuilder
from kernelpoint.profiles.format import (
    NOT_THIS,
    SIGNATURE,
    STRUCTURE,
    WORDS,
    Beginning,
    ProfileFormat,
    TextFormat,
    open_decompressed,
)
from kernelpoint.profiles.matching import Matching, match, matched_rows
from kernelpoint.profiles.profile import Launches, Profile
from kernelpoint.profiles.read import read_profile

__all__ = [
    "NOT_THIS",
    "SIGNATURE",
    "STRUCTURE",
    "WORDS",
    "Beginning",
    "Launches",
    "Matching",
    "Profile",
    "ProfileBuilder",
    "ProfileFormat",
    "TextFormat",
    "match",
    "matched_rows",
    "open_decompressed",
    "read_profile",
]
