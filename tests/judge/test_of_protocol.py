"""The judge that a protocol names."""

from typing import Any

import pytest

from mm_eval.judge.judges import judges_of
from mm_eval.prepare import load_configs
from mm_eval.protocols.run_under import fill_in
from mm_eval.request import RunRequest
from mm_eval.values.errors import ConfigError


def test_the_judge_of_the_protocol_is_asked_unless_an_option_names_another() -> None:
    def judged(*tasks: str, **more: Any) -> RunRequest:
        request = RunRequest.of_options(tasks, model="dummy", protocol="llava-1.5", **more)
        return fill_in(request, load_configs(request), sample=False)

    found = judged("mmvet")
    assert judges_of(found) == [("openai", {"model": "gpt-4-0613", "base_url": "https://api.openai.com/v1"})]
    assert judges_of(judged("mmvet", judge="dummy")) == [("dummy", {})]
    assert judges_of(judged("mme")) == judges_of(judged("mmvet", no_judge=True)) == []
    with pytest.raises(ConfigError, match="several judges: gpt-4-0613 of mmvet, gpt-4-0314 of llava_in_the_wild"):
        judged("mmvet", "llava_in_the_wild")
