"""The one rule by which channels are mixed and rates converted: the mean of all channels, then soxr at its quality "HQ"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mm_eval.values.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mm_eval.data.sound.wav import Block

    Samples = NDArray[np.float32]

QUALITY = "HQ"
"""soxr's name of the quality: 20 bits, the band up to 0.913 of the lower rate's half."""


def as_floats(block: Block) -> Samples:
    """Samples as floats around 1: whole numbers by their full range, floats as they are."""
    import numpy as np

    if block.dtype.kind == "f":
        return block.astype(np.float32, copy=False)
    return (block * 2.0**-31).astype(np.float32)


def mixed(samples: Samples) -> Samples:
    """The mean of all channels."""
    return samples[:, 0] if samples.shape[1] == 1 else samples.mean(axis=1, dtype="f8").astype("f4")


def resampled(samples: Samples, rate: int, wanted: int) -> Samples:
    """Samples at another rate, by soxr. ConfigError if it is not installed."""
    try:
        import soxr
    except ImportError as error:
        hint = "Install it: pip install 'mm-eval[audio]'"
        what = f"sound of {rate} Hz is converted to {wanted} Hz with soxr, which can't be imported."
        raise ConfigError(what, hint=hint) from error
    found: Any = soxr.resample(samples, rate, wanted, quality=QUALITY)
    return found  # type: ignore[no-any-return]
