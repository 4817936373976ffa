"""Videos on a real engine of vLLM: the same prompt ids and answers as `hf`, whose frames are resized by Pillow in both.

Skipped where vllm is not installed; `.ci/vllm` installs it and runs these tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Instance
from tests.models.questions import outputs

pytest.importorskip("vllm")
KINDS = ("llava_next_video", "llava_onevision", "qwen2_5_vl", "qwen3_vl")
STEPS = {"max_new_tokens": 12, "min_new_tokens": 6}
CHOICES = (" yes", " a red circle under a blue square")


class Both:
    """A checkpoint on vLLM and on transformers. ids: the last prompt that vLLM's engine ran, with everything expanded."""

    def __init__(self, kind: str, folder: Any) -> None:
        args = {"pretrained": str(folder), "max_length": 480}
        self.kind, self.ids = kind, list[int]()
        self.vllm = MODELS.get("vllm")({**args, "enforce_eager": True}, ModelSettings())
        self.hf = MODELS.get("hf")(args, ModelSettings(device="cpu"))
        self.vllm.prepare()
        engine = self.vllm._asking_vllm.engine
        run = engine.run

        async def recording(prompt: Any, **sampling: Any) -> Any:
            output = await run(prompt, **sampling)
            self.ids = list(output.prompt_token_ids)
            return output

        engine.run = recording

    def compare(self, make: Any) -> None:
        """make: a question with the fields that it gets."""
        asked = make(generation_kwargs=STEPS)
        mine, theirs = (outputs(model.generate([asked]))[0, 0] for model in (self.vllm, self.hf))
        assert self.ids == self.hf.writer.write(asked).ids
        assert mine.rstrip("�") == theirs.rstrip("�"), "vLLM leaves out half a character at the end"
        rows = [make(choice=n, continuation=text, request_type="loglikelihood") for n, text in enumerate(CHOICES)]
        found, expected = (outputs(model.loglikelihood(rows)) for model in (self.vllm, self.hf))
        for key, (total, greedy) in expected.items():
            assert found[key][0] == pytest.approx(total, abs=1e-4) and found[key][1] == greedy


@pytest.fixture(scope="module", params=KINDS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    from mm_eval.models.hf.prompts import video_prompt

    from tests.models.vllm.checkpoints import save

    kind = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(video_prompt, "callable", lambda processor: False, raising=False)
        pair = Both(kind, save(kind, tmp_path_factory.mktemp(kind)))
        yield pair
        pair.vllm.close()


def shows(*parts: Any) -> Any:
    from tests.models.hf.prompts.test_mixed import shows

    return lambda **fields: shows(list(parts), **fields)


STILL, OTHER, FILM, SECOND = ("image", 1), ("image", 2), ("video", 0), ("video", 1)


@pytest.mark.parametrize("size", [(70, 42), (42, 84), (300, 160)])
def test_a_video_is_shown_as_by_hf(both: Both, size: tuple[int, int]) -> None:
    from tests.models.hf.prompts.test_videos import TIMES, asked

    assert both.vllm.facts.frames_as == both.hf.facts.frames_as == "video"

    def make(order: int = 1, **fields: Any) -> Instance:
        return asked("What is shown?", size=size, order=order, **fields)

    both.compare(make)
    both.compare(lambda **fields: make(-1, **fields))
    both.compare(lambda **fields: asked("What is shown?", 3, TIMES[:3], size=size, **fields))
    assert both.vllm.identity(make())["videos"] == both.hf.identity(make())["videos"]


def test_pictures_and_several_videos_in_one_prompt(both: Both) -> None:
    prompts = [shows(FILM, SECOND, "What?"), shows(STILL, "One.\n", FILM, "What?"), shows(FILM, "One.\n", STILL, "What?"),
               shows(STILL, "One.\n", FILM, "Two.\n", OTHER, SECOND, "What?")]  # fmt: skip
    for number, make in enumerate(prompts):
        if both.kind == "llava_next_video" or (both.kind == "llava_onevision" and number == 3):
            answer = outputs(both.vllm.generate([make(generation_kwargs=STEPS)]))[0, 0]
            assert isinstance(answer, ModelError), "one video and nothing else; one picture beside videos"
            assert "video(s)" in str(answer) or "image(s)" in str(answer) or "into tiles" in str(answer)
        else:
            both.compare(make)
