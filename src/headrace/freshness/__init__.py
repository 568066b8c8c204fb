"""Which mappings of a local view are asked for again, and how accurate an answer from it is."""
