"""Data sets copied for a machine without network."""
