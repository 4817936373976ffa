"""A training run that is killed goes on from its checkpoint."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch


def options(work: Path, **changed: Any) -> Namespace:
    """Options of a run that ends within a second."""
    values = {
        "arch": "llava",
        "minutes": 0.01,
        "warm": 0.3,
        "easy": 0.6,
        "seed": 0,
        "rate": 1.0,
        "mix": (5, 3, 1),
        "video": 4,
        "start": "",
        "stories": 0.3,
        "forms": 0.3,
        "zoom": 0.0,
        "heavy": {},
        "scenes": 0.65,
        "hold": 0.4,
        "work": str(work),
    }
    return Namespace(**{**values, **changed})


def test_kinds_of_pictures_that_come_more_often() -> None:
    from argparse import ArgumentTypeError

    from train import _heavy

    assert _heavy("arithmetic=7,code=6") == {"arithmetic": 7, "code": 6}
    with pytest.raises(ArgumentTypeError, match="no kinds of pictures: sums. There are location, "):
        _heavy("sums=3")


@pytest.mark.full
def test_a_run_learns_from_conversations_with_zoom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import train

    monkeypatch.setattr(train, "CHAINS", 4)
    run = train.Run(options(tmp_path, arch="qwen", zoom=1.0, stories=0.0, forms=0.0))
    loss, shown = run.loss(0.9)
    loss.backward()
    assert shown["kind"] == "zoom" and len(shown["aux"]) == 4
    assert run.progress.questions == 4 and run.progress.images >= 4


@pytest.mark.slow
def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import train
    from train import Run

    for size in ("WARM_BATCH", "BATCH", "VIDEO_BATCH", "FORM_BATCH", "ALBUM_BATCH"):
        monkeypatch.setattr(train, size, 2)
    first = Run(options(tmp_path))
    first.train()
    assert [path.name for path in tmp_path.iterdir()] == ["llava.pt"], "written beside it, then moved into place"
    assert first.progress.step > 0

    second = Run(options(tmp_path, minutes=(first.progress.seconds + 0.5) / 60))
    second.resume()
    assert vars(second.progress) == vars(first.progress)
    assert second.rng.getstate() == first.rng.getstate()
    for name, weights in first.model.state_dict().items():
        assert torch.equal(weights, second.model.state_dict()[name])
    momenta = [optimizer.state_dict()["state"] for optimizer in second.optimizers]
    assert all(momenta), "both optimisers keep their momenta"

    second.train()
    assert second.progress.step > first.progress.step
    assert second.progress.seconds > first.progress.seconds, "the time of the first run counts"
