"""Synthetic workloads: kernel families as warp programs in real SASS opcodes, written as Accel-Sim traces.

    machine    executes a warp program for many warps at once and renders what a tracer would have recorded
    families   one function per kernel: from tensors and sizes to a launch
    workloads  launch sequences with the repetition, drift and irregularity of real ones
    writer     trace files, kernelslist.g and workload.json

Model: programs follow the shape of compiled Volta code (binary version 70) but were written by hand; they compute no
values beyond those that decide addresses and control flow. Predicates are not traced, as in real traces.
"""
