"""The commands: one file or folder each. cli/__init__.py has their table."""
