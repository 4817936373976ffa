"""The tiny models shipped with mm-eval: real architectures and processors, trained from scratch on drawings and drawn sounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

from mm_eval.engine.model import ModelFacts, ModelSettings, register_model
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Options

from .hf.adapter import HuggingFace, Llava, QwenVL
from .hf.arguments import WHERE, Arguments


def _arguments(args: Options, name: str) -> Arguments:
    if "pretrained" in args:
        raise ConfigError(
            f"{name} is the bundled model and takes no pretrained={args['pretrained']!r}.",
            where=WHERE,
            hint="Use --model hf for a checkpoint of your own.",
        )
    folder = str(files("mm_eval.assets") / "models" / name)
    return Arguments.read({**args, "pretrained": folder})


@register_model("tiny-llava")
class TinyLlava(Llava):
    """The bundled LLaVA model (1.8 M parameters) for the bundled sample data."""

    facts = ModelFacts(bundled=True)
    bundled_stand_in = None

    def _read_arguments(self) -> Arguments:
        return _arguments(self.args, "tiny-llava")

    def describe(self) -> Mapping[str, object]:
        """States the model by name: the package's folder does not decide the answers."""
        return {**super().describe(), "pretrained": "tiny-llava"}


@register_model("tiny-qwen2-vl")
class TinyQwen2VL(QwenVL):
    """The bundled Qwen2-VL model (1.9 M parameters) for the bundled sample data."""

    facts = ModelFacts(bundled=True)
    bundled_stand_in = None

    def __init__(self, args: Options, settings: ModelSettings) -> None:
        super().__init__(args, settings)
        # It was trained with the prompts `qwen_vl`; its family's evaluator sends others, which it answers in sentences.
        self.facts = replace(self.facts, prompt_keys=("qwen_vl", "qwen2_vl"))

    def _read_arguments(self) -> Arguments:
        return _arguments(self.args, "tiny-qwen2-vl")

    def describe(self) -> Mapping[str, object]:
        """States the model by name: the package's folder does not decide the answers."""
        return {**super().describe(), "pretrained": "tiny-qwen2-vl"}


@register_model("tiny-qwen2-audio")
class TinyQwen2Audio(HuggingFace):
    """The bundled Qwen2-Audio model (0.6 M parameters), which hears the sounds of the bundled sample data and sees nothing."""

    facts = ModelFacts(bundled=True, hears=True)

    def _read_arguments(self) -> Arguments:
        return _arguments(self.args, "tiny-qwen2-audio")

    def describe(self) -> Mapping[str, object]:
        """States the model by name: the package's folder does not decide the answers."""
        return {**super().describe(), "pretrained": "tiny-qwen2-audio"}
