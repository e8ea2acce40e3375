"""Before a run: in come a configuration and a program (the launches), out goes a plan: the sampling design of a policy, and
what the run is expected to cost. making.py makes it.
"""
