"""Adapters that were written for the former interface of `Model` still run, and one note names the new places."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mm_eval.engine.model import (
    MODELS,
    OLD_MEMBERS,
    Model,
    ModelSettings,
    account,
    another_of,
    check,
    check_generation,
    create_model,
    dollars,
    expect,
    is_bundled,
    measured,
    prepare_once,
    recall,
    shares,
    show,
    stop,
)
from mm_eval.engine.prices import Price
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, Instance
from tests.engine.asking import ask, questions
from tests.engine.fakes import a_fleet, requests

ASKED = Instance("generate_until", "t", 0, {}, context="q", generation_kwargs={"temperature": 0})


def made(members: dict[str, Any], base: type[Model] = Model, args: dict[str, Any] | None = None) -> Any:
    """An adapter whose class has these members."""

    def generate(self: Any, instances: Iterable[Instance]) -> Any:
        for instance in instances:
            yield instance, Answer(str(instance.context))

    stated = {"generate": generate} if base is Model else {}
    return create_model(type("Old", (base,), {**stated, **members}), args or {}, ModelSettings())


def raises(*_: Any) -> None:
    raise ConfigError("refused.")


def refuses(call: Callable[[], Any]) -> bool:
    try:
        call()
    except ConfigError as error:
        return error.what == "refused."
    return False


def told(name: str) -> tuple[Any, list[Any]]:
    """An adapter that keeps what one of its methods is called with, and that list."""
    calls: list[Any] = []
    return made({name: lambda self, *given: calls.append(given)}), calls


def keeps(name: str, call: Callable[[Any], Any], *given: Any) -> bool:
    model, calls = told(name)
    call(model)
    return calls == [given]


def _elsewhere(model: Any) -> None:
    model.facts = replace(model.facts, constants={"dtype": "x"})


WORKS: dict[str, Callable[[], bool]] = {
    "prompt_keys": lambda: made({"prompt_keys": ("x",)}).facts.prompt_keys == ("x",),
    "chat": lambda: made({"chat": True}).facts.chat,
    "bundled": lambda: is_bundled(type(made({"bundled": True}))),
    "local": lambda: made({"local": True}).facts.local,
    "tries_first": lambda: made({"tries_first": True}).facts.tries_first,
    "travels": lambda: not made({"travels": False}).facts.travels,
    "video_rule": lambda: made({"video_rule": "frames=3"}).facts.frames_rule == "frames=3",
    "video_input": lambda: made({"video_input": "video"}).facts.frames_as == "video",
    "function_of_key": lambda: not shares(made({"function_of_key": False}), ASKED),
    "shares": lambda: not shares(made({"shares": lambda self, instance: instance.context != "q"}), ASKED),
    "constants": lambda: measured(made({"constants": lambda self: {"a": 1}})).constants == {"a": 1},
    "findings": lambda: made({"findings": lambda self: {"a": 1}}).facts.findings == {"a": 1},
    "ran_on": lambda: made({"ran_on": lambda self: {"a": 1}}).facts.ran_on == {"a": 1},
    "machine": lambda: measured(made({"machine": lambda self: {"device": "d", "parameters": 7}})).parameters == 7,
    "price": lambda: made({"price": lambda self: Price(1, 2)}).facts.price == Price(1, 2),
    "dollars": lambda: dollars(made({"dollars": lambda self, usage: usage["n"]}), {"n": 3}) == 3,
    "account": lambda: account(made({"account": lambda self, usage: f"{usage}"}), {"n": 3}) == "{'n': 3}",
    "adopt": lambda: keeps("adopt", _elsewhere, {"dtype": "x"}),
    "recall": lambda: keeps("recall", lambda model: recall(model, {"a": 1}), {"a": 1}),
    "expect": lambda: keeps("expect", lambda model: expect(model, {"a": 1}), {"a": 1}) and expects(),
    "check_arguments": lambda: refuses(lambda: check(made({"check_arguments": raises}), ())),
    "check_generation": lambda: refuses(lambda: check_generation(made({"check_generation": raises}), {"top_p": 0.5})),
    "check_requests": lambda: refuses(lambda: check(made({"check_requests": raises}), [ASKED])),
    "check_videos": lambda: refuses(lambda: check(made({"check_videos": raises}), [ASKED], [ASKED])),
    "stop_soon": lambda: keeps("stop_soon", lambda model: stop(model, at_once=True)),
    "finish": lambda: keeps("finish", lambda model: stop(model, at_once=False)),
    "create": lambda: (
        made({"create": classmethod(lambda cls, args, settings: cls({"n": 3}, settings))}).args == {"n": 3}
    ),
    "another": lambda: another_of(made({"another": lambda self: self.args})) == {},
    "preview": lambda: show(made({"preview": lambda self, instance: instance.context}), ASKED) == "q",
    "prepare_once": lambda: made({"prepare_once": lambda self: None}).prepare_once() is None,
}


def expects() -> bool:
    """A fleet around an adapter of the former interface lets it adopt what is expected."""
    model, _ = a_fleet(type(made({"local": True, "adopt": lambda self, constants: self.args.update(constants)})))
    expect(model, {"dtype": "x"})
    return bool(model.model.args == {"dtype": "x"} == measured(model).constants)


@pytest.mark.parametrize("name", OLD_MEMBERS)
def test_an_adapter_with_a_former_member_still_runs_and_one_note_says_where_it_stands_now(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert WORKS[name]()
    notes = [record.getMessage() for record in caplog.records if "former members" in record.getMessage()]
    assert len(notes) == (2 if name == "expect" else 1) and f"{name} ({OLD_MEMBERS[name]})" in notes[0]


def test_a_whole_adapter_of_the_former_interface_answers_here_and_on_workers(tmp_path: Path) -> None:
    class Former(Model):
        asked: list[Instance] = []
        local = True

        def __init__(self, args: Any, settings: Any) -> None:
            super().__init__(args, settings)
            self.prompt_keys, self.known = ("x", "y"), None

        @classmethod
        def create(cls, args: Any, settings: Any) -> Model:
            return super().create({**args, "made": True}, settings)

        def check_requests(self, request_type: str, instances: Any) -> None:
            super().check_requests(request_type, instances)
            self.args["checked"] = request_type

        def preview(self, instance: Instance) -> Any:
            return replace(super().preview(instance), tokens=3)

        def account(self, usage: Any) -> str:
            return "free" + super().account(usage)

        def shares(self, instance: Instance) -> bool:
            return super().shares(instance) and self.function_of_key and not self.chat

        def constants(self) -> Any:
            return self.known or {"dtype": "x"}

        def adopt(self, constants: Any) -> None:
            self.known = dict(constants)

        def describe(self) -> Any:
            return {"adapter": super().describe()["adapter"], **self.constants()}

        def generate(self, instances: Iterable[Instance]) -> Any:
            for instance in instances:
                yield instance, Answer("ok")

    model: Any = create_model(Former, {}, ModelSettings())
    assert model.args == {"made": True} and model.facts.prompt_keys == ("x", "y") and model.facts.local
    check(model, [ASKED])
    assert model.args["checked"] == "generate_until" and show(model, ASKED).tokens == 3
    assert account(model, {}) == "free" and shares(model, ASKED) and model.prepare_once() is None
    with pytest.raises(ConfigError, match="can't give log-likelihoods"):
        check(model, [replace(ASKED, request_type="loglikelihood", continuation="a")])
    assert ask(tmp_path, model, questions(5)).answered == 5
    fleet, _ = a_fleet(Former)
    assert fleet.describe()["dtype"] == "x" and fleet.model.known == {"dtype": "x"}
    assert sorted(instance.doc_id for instance, _ in fleet.generate(requests(20))) == list(range(20))
    fleet.close()


def test_an_adapter_from_outside_that_stands_on_a_shipped_one(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"task": "t", "doc_id": 0, "resps": ["yes"]}))
    members = {"chat": True, "check_generation": raises, "account": lambda self, usage: "mine"}
    model = made(members, MODELS.get("replay"), {"path": str(file)})
    assert model.facts.chat and not model.facts.travels and account(model, {}) == "mine"
    assert refuses(lambda: check_generation(model, {}))
    args = {"base_url": "http://localhost:1/v1", "model": "m"}
    model = made({"check_requests": raises, "findings": lambda self: {"a": 1}}, MODELS.get("openai"), args)
    assert (
        model.facts.chat and model.facts.findings == {"a": 1} and model.price() is None and dollars(model, {}) is None
    )
    assert refuses(lambda: check(model, [ASKED]))
    with pytest.raises(ConfigError, match="num_beams"):
        check_generation(model, {"num_beams": 3})


def test_what_called_the_former_members_of_a_model_still_finds_them() -> None:
    model: Any = create_model(MODELS.get("dummy"), {}, ModelSettings())
    assert (model.prompt_keys, model.chat, model.function_of_key, model.video_input) == ((), False, True, "pictures")
    assert (
        model.preview(ASKED).text == "q"
        and model.machine() == {}
        and model.account({}) == ""
        and model.dollars({}) == 0
    )
    model.check_requests("generate_until", [ASKED])
    model.prepare_once()
    prepare_once(model)
    with pytest.raises(AttributeError, match="no attribute 'something'"):
        _ = model.something
