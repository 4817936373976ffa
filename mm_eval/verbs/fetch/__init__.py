"""Data sets that can't be loaded by name: their authors' recipes."""
