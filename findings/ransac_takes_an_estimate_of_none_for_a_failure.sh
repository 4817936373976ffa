#!/usr/bin/env bash
# CDM, the formula score of OmniDocBench, filters matched characters by scikit-image's ransac with a model class of its own, whose `estimate`
# returns nothing. What do two equal sets of points give with the version that CDM's requirements allow at most, and with the present one?
#
# Guess: every point is an inlier with both, or a class without a result is refused by name.
# Seen: 0.20.0 takes None for a success, and all points are inliers. 0.26.0 takes it for a failure of every trial: the result is
# (None, None), and no error. CDM reads that as "no character matches", so that equal formulas score 0.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cat >"$folder/points.py" <<'PYTHON'
import sys
import warnings

import numpy as np
import skimage
from skimage.measure import ransac

warnings.simplefilter("ignore")


class Shift:
    """A translation, as CDM's class of translation and scale."""

    def estimate(self, src, dst):
        self.by = dst.mean(axis=0) - src.mean(axis=0)

    def residuals(self, src, dst):
        return np.linalg.norm(src + self.by - dst, axis=1)


points = np.array([[float(x), float(x * x % 7)] for x in range(12)])
_, inliers = ransac((points, points + 3.0), Shift, min_samples=3, residual_threshold=25, max_trials=50)
print("scikit-image", skimage.__version__, "inliers:", None if inliers is None else int(inliers.sum()))
sys.exit((None if inliers is None else int(inliers.sum())) != {"12": 12, "None": None}[sys.argv[1]])
PYTHON
for pinned in "scikit-image==0.20.0 numpy==1.26.4 scipy==1.11.4|12" "scikit-image==0.26.0 numpy==2.4.6|None"; do
    python3 -m venv "$folder/${pinned##*|}"
    # shellcheck disable=SC2086
    "$folder/${pinned##*|}/bin/pip" install -q --disable-pip-version-check ${pinned%|*} || exit 2
    "$folder/${pinned##*|}/bin/python" "$folder/points.py" "${pinned##*|}"
done
