"""From a query to a plan: what will be run, and how."""
