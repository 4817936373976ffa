"""`python -m mm_eval` is `mm-eval`."""

import sys

from mm_eval.cli import main

sys.exit(main())
