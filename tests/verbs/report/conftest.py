"""The recorded runs of tests/results, which the tests of reports show."""

from tests.results.conftest import (  # noqa: F401
    answers_with,
    base,
    dummy_run,
    in_page,
    mme_rows,
    perfect,
    ran,
    set_count,
    worse,
)
