"""Totals beside the sample's: in comes an interim analysis (Look), out goes one with totals that traces determine, that are
proportional to others, or that identities tie together. rules.py lists these rules in their order.
"""
