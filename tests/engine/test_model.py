"""A model that several runs share."""

from mm_eval.engine.model import Model, ModelSettings, close_model, closing_model, prepare_once


class Counting(Model):
    """An adapter of somebody's own, whose `close` knows nothing of `prepare_once`."""

    loaded = 0

    def prepare(self) -> None:
        self.loaded += 1

    def close(self) -> None:
        pass


def test_fault_a_closed_model_was_not_prepared_again():
    model = Counting({}, ModelSettings())
    prepare_once(model)
    prepare_once(model)
    assert model.loaded == 1
    close_model(model)
    prepare_once(model)
    assert model.loaded == 2
    with closing_model(model):
        prepare_once(model)
    prepare_once(model)
    assert model.loaded == 3
