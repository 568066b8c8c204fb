"""Evaluation over relations whose rows hold from one instant to another.

Layers: `relation` < `operators` < `aggregates` < `output`. They know arrays of
ids, and no terms.
"""
