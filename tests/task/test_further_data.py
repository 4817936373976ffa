"""Data that a task's own function loads with `datasets.load_dataset`, such as GQA's pictures."""

import datasets
import pytest

from mm_eval.data import source
from mm_eval.data.source import DataSource
from mm_eval.features.suites.habits import load_dataset_from


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """(id, whether the hub's client is offline) of each request; the hub has the new id only."""
    found: list[tuple[str, bool]] = []

    def builder(path, name=None, *args, **kwargs):
        found.append((path, datasets.config.HF_HUB_OFFLINE))
        if path == "lmms-lab/GQA":
            raise datasets.exceptions.DatasetNotFoundError(path)
        return name

    monkeypatch.setattr(datasets.load, "load_dataset_builder", builder)
    monkeypatch.setattr("mm_eval.data.source.hub_answers", lambda: True)
    return found


@pytest.mark.parametrize("offline", [False, True])
def test_a_moved_data_set_is_looked_up_under_both_ids_and_offline_without_the_hub(asked, offline: bool) -> None:
    with load_dataset_from(DataSource(offline=offline)):
        assert datasets.load.load_dataset_builder("lmms-lab/GQA", "pictures") == "pictures"
    assert asked == [("lmms-lab/GQA", offline), ("lmms-lab-encoder/GQA", offline)]
    assert not datasets.config.HF_HUB_OFFLINE


def test_the_first_error_is_raised_where_no_id_is_found(asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOVED_OWNERS", ())
    with load_dataset_from(DataSource()), pytest.raises(datasets.exceptions.DatasetNotFoundError, match="lmms-lab/GQA"):
        datasets.load.load_dataset_builder("lmms-lab/GQA")
