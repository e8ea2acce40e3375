"""One run on many processes and machines: a coordinator with session and journal, and simulators that work for it.

Dask starts the workers and hands out the work; docs/many-machines.md says how it is used.
"""
