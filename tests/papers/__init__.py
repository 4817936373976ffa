"""Published numbers from recorded answers: each test replays a benchmark's own recordings through the task that ships.

The recordings are not in this repository: `python tests/papers/fetch.py` copies them from the benchmarks' own
repositories. A test whose recordings are missing is skipped, and the reason says so.
"""
