"""Puts KernelPoint's hook into a simulator's source tree, and takes it out again to the byte.

A simulator is described by one file, ``patch.yaml`` (:mod:`kernelpoint.patching.description`). It names places in the
simulator's sources by what they call, not by their lines (:mod:`kernelpoint.patching.anchors`); whole lines of ours are
added there, each marked (:mod:`kernelpoint.patching.own_files`), and our own files are laid beside the sources
(:mod:`kernelpoint.patching.tree`). Nothing of the simulator is contained, changed or removed.
"""

from kernelpoint.patching.description import Description as Description
from kernelpoint.patching.description import load_description as load_description
from kernelpoint.patching.description import patchable as patchable
from kernelpoint.patching.tree import Edit as Edit
from kernelpoint.patching.tree import Plan as Plan
from kernelpoint.patching.tree import State as State
from kernelpoint.patching.tree import Tree as Tree
