"""RDF as values: terms, their identities, and the formats they are written in."""
