"""The kernel: a plan evaluated over columns of integers.

It imports no Spark and opens no files. Deadlines are checked by a clock that the caller passes in.
Only `snapshot` and `waiting` measure durations themselves: for the figures of explain, and to
choose when a costly condition is tested. Answers depend on neither.
"""
