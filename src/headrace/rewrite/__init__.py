"""Queries rewritten into equivalent ones that cost less."""
