"""The runtime: a plan on Spark Structured Streaming. Nothing else imports pyspark."""
