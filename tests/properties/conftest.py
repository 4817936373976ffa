"""Settings of the property-based tests: no deadline on a shared machine, and the same examples on every run."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "mm_eval", deadline=None, derandomize=True, max_examples=150, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("mm_eval")
