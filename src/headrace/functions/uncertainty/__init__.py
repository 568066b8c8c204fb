"""Values that are not known exactly: distributions, and what can be said of them."""
