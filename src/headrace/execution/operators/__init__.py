"""The operators of SPARQL over relations with intervals."""
