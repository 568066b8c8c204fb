"""The pipeline from sources to sinks, exactly once: everything about it that is not Spark's."""
