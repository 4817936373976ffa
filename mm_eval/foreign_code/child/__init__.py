"""What runs in the process of a task's own code, and only there: it may replace what it likes of Python's."""
