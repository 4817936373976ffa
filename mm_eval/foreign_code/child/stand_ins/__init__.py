"""Small modules of our own in place of those that task code of other suites imports: its logging, its base classes, its helpers.

`served.py` says which name of which suite is answered by which of them. They hold what task files use, not what the suites have:
any other name is one of a package that is not installed (`missing.py`).
"""
