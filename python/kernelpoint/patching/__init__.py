"""Puts KernelPoint's hook into a simulator's source tree, and takes it out again to the byte.

A simulator is described by one file, ``patch.yaml`` (:mod:`kernelpoint.patching.description`). It names places in the
simulator's sources by what they call, not by their lines (:mod:`kernelpoint.patching.anchors`); whole lines of ours are
added there, each marked (:mod:`kernelpoint.patching.own_files`), and our own files are laid beside the sources
(:mod:`kernelpoint.patching.tree`). Nothing of the simulator is contained, changed or removed.
"""

from kernelpoint.patching.description import Description, load_description, simulators
from kernelpoint.patching.tree import Edit, Plan, State, Tree

__all__ = ["Description", "Edit", "Plan", "State", "Tree", "load_description", "simulators"]
