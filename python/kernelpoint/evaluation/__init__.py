"""`kernelpoint compare`: every sampling method on the same workloads and budgets, judged against the full run."""
