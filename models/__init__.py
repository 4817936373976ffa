"""Adapters: one file a protocol, families as small data. Found by name, imported only when asked for."""
