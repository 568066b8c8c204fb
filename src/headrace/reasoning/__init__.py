"""What follows from statements under a schema: closure, reduction, the epsilon network."""
