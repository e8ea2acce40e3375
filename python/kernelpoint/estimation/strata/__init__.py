"""Sampling of units of which only labels are known, and perhaps a covariate: in come strata, out go draws and totals."""
