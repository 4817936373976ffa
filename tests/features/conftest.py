"""The recorded runs of tests/results, which the tests of features read."""

from tests.results.conftest import base, dummy_run, mme_rows, perfect, worse  # noqa: F401
