"""Insertion of KernelPoint's hook into a simulator's source tree, and removal that restores every byte.

A simulator is described by one file, ``patch.yaml`` (:mod:`kernelpoint.patching.description`). Patterns of code, not line
numbers, name the places of insertion (:mod:`kernelpoint.patching.anchors`). Whole lines are added there, each with a mark, and
KernelPoint's files are copied into the tree (:mod:`kernelpoint.patching.own_files`, :mod:`kernelpoint.patching.tree`). A patch
contains no line of the simulator, and changes or removes none.
"""

from kernelpoint.patching.description import Description as Description
from kernelpoint.patching.description import load_description as load_description
from kernelpoint.patching.description import patchable as patchable
from kernelpoint.patching.tree import Additions as Additions
from kernelpoint.patching.tree import Edit as Edit
from kernelpoint.patching.tree import SourceTree as SourceTree
from kernelpoint.patching.tree import State as State
