"""Benchmarks: one folder each, YAML and perhaps a utils.py. Found by the catalog, imported only when run."""
