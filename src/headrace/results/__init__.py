"""What queries answer, as values and in the formats of the W3C: read, written and shown."""
