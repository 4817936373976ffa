"""Lets the tests import the scripts of assets/make, which run from a checkout and are not in the wheel."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "assets" / "make"))
