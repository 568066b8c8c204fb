"""Situations in which a query gives no rows: one TOML file each, with the notes that explain it."""
