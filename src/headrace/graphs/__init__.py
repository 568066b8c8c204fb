"""Queries as graphs to look at: of their operators, and of their terms and sources."""
