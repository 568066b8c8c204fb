"""The one algebra that every dialect is translated into: frozen values, no behaviour."""
