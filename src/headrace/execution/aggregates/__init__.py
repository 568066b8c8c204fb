"""Aggregates of groups, computed at the instants at which a group changes."""
