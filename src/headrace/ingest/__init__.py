"""Sources that cannot be read twice: what they say is put on disk before anyone relies on it."""
