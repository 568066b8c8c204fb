"""Where results go: files, tables, topics and callers, each of them exactly once after a crash."""
