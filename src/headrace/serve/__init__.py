"""A running deployment behind HTTP: streams, queries, results, SPARQL, and a console."""
