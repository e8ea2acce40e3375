"""A run: in come a configuration, the description of a simulator and the results of its launches, out go the launches to
simulate, a journal, and the statement of totals with bounds. loop.py is the run from its first launch to its last estimate;
session.py answers the calls of a simulator.
"""
