"""Settings of the property-based tests: no deadline on a shared machine, and the same examples on every run."""

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

providers.is_local_module_file = lambda path: False  # type: ignore[attr-defined]
"""Else it draws literals of what is imported: it parses 600 files, and the examples are not the same on every run."""

settings.register_profile(
    "mm_eval", deadline=None, derandomize=True, max_examples=150, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("mm_eval")
