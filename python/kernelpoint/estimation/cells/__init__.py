"""Sampling of units that all have a prediction: in come predictions, out go draws, corrected predictions and totals."""
