"""Answers of a query, made of relations with intervals."""
