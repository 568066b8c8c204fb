"""Relations of term ids with intervals, and the arithmetic of intervals."""
