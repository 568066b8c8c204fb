"""The kernel: a plan evaluated over columns of integers. No Spark, no clock, no files."""
