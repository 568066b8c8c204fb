"""The functions of SPARQL as plain functions of terms, and what expressions made of them give."""
