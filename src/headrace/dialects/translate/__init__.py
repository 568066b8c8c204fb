"""From parse trees to the algebra, layer by layer: terms, expressions, patterns, queries."""
