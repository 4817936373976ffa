"""Tokenizer and processor of a checkpoint, loaded from its files.

Many processors of transformers have a video part that needs torchvision and files of its own, and loading fails without them.
Videos come as single frames here, so if the automatic loader fails, the same class is loaded without its video part.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from mm_eval.values.errors import ConfigError

from .arguments import WHERE, PromptArguments
from .beside import NOT_BESIDE, OF_SOUND, broken_package, causes, leave_out_broken
from .families import FAMILIES, SPEECH

if TYPE_CHECKING:
    from transformers import BaseImageProcessor, PretrainedConfig, PreTrainedTokenizerBase, ProcessorMixin


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Runs transformers without progress bars and warnings, then restores its settings."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


TEXT_ALONE = ("mistral4",)
"""Types of text that transformers 5.23 lists among those that read pictures, and nowhere else: mistral3 shows it pictures."""


def is_image_text(model_type: str) -> bool:
    """Whether checkpoints of this type read pictures and write text. transformers lists those that hear as well elsewhere."""
    leave_out_broken(OF_SOUND)
    from transformers.models.auto import modeling_auto

    if model_type in modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        return model_type not in TEXT_ALONE
    more = getattr(modeling_auto, "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES", {})  # from transformers 5.0 on
    if model_type not in more:
        return False
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    return _sees(CONFIG_MAPPING[model_type])


def _sees(config: PretrainedConfig) -> bool:
    """Whether a class of configs has a part for pictures, itself or in one of its parts."""
    return any("vision" in name or _sees(part) for name, part in getattr(config, "sub_configs", {}).items())


def takes_media(model_type: str) -> bool:
    """Whether checkpoints of this type have a processor: they read pictures, or hear."""
    return is_image_text(model_type) or hears(model_type)


def hears(model_type: str) -> bool:
    """Whether checkpoints of this type are known to take sounds."""
    return model_type in FAMILIES and FAMILIES[model_type].sound is not None


def image_text_loader(model_type: str) -> Any:
    """The class of transformers that loads a type that reads pictures or hears.

    Of one that thinks and talks (qwen2_5_omni) it is the thinker, which writes the text, without the part that speaks.
    """
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as LISTED

    if model_type not in LISTED and (thinker := LISTED.get(f"{model_type}_thinker")):
        return getattr(transformers, thinker)
    if not is_image_text(model_type) and (hears(model_type) or model_type in SPEECH):
        from transformers.models.auto import modeling_auto

        tables = [
            f"MODEL_FOR_{table}_MAPPING_NAMES"
            for table in ("SEQ_TO_SEQ_CAUSAL_LM", "MULTIMODAL_LM", "SPEECH_SEQ_2_SEQ")
        ]
        named = next(
            found[model_type] for table in tables if model_type in (found := getattr(modeling_auto, table, {}))
        )
        return getattr(transformers, named)
    listed = model_type in LISTED or not is_image_text(model_type)
    return transformers.AutoModelForImageTextToText if listed else transformers.AutoModelForMultimodalLM


def text_loader(model_type: str) -> Any:
    """The class of transformers that loads a model of text."""
    import transformers

    return transformers.AutoModelForImageTextToText if model_type in TEXT_ALONE else transformers.AutoModelForCausalLM


def load_config(folder: Path, arguments: PromptArguments) -> PretrainedConfig:
    """The checkpoint's config object. Raises ConfigError if transformers does not know its model type."""
    leave_out_broken(OF_SOUND)
    from transformers import AutoConfig

    with naming(arguments.pretrained, "config"), quiet():
        return AutoConfig.from_pretrained(folder, trust_remote_code=arguments.trust_remote_code, local_files_only=True)


def load_tokenizer(folder: Path, arguments: PromptArguments) -> PreTrainedTokenizerBase:
    """The tokenizer alone, for models of text."""
    from transformers import AutoTokenizer

    with naming(arguments.pretrained, "tokenizer"), quiet():
        return AutoTokenizer.from_pretrained(
            folder, trust_remote_code=arguments.trust_remote_code, local_files_only=True
        )


def load_processor(folder: Path, arguments: PromptArguments) -> ProcessorMixin | None:
    """The processor of an image-text model with the requested pixel limits."""
    from transformers import AutoImageProcessor, AutoProcessor

    options = {"trust_remote_code": arguments.trust_remote_code, "local_files_only": True}
    with naming(arguments.pretrained, "processor"), quiet():
        try:
            processor = AutoProcessor.from_pretrained(folder, **options)
        except (ImportError, ValueError, OSError):
            whole = _processor_class(folder, arguments)
            if not any("video" in name for name in whole.get_attributes()):
                raise
            processor = _without_video(whole).from_pretrained(folder, **options)
        if getattr(processor, "image_processor", None) is None:  # it hears and does not see
            return processor
        limits = {"min_pixels": arguments.min_pixels, "max_pixels": arguments.max_pixels}
        limits = {name: value for name, value in limits.items() if value is not None}
        if limits:
            settable = getattr(getattr(processor.image_processor, "valid_kwargs", None), "__annotations__", {})
            missing = sorted(set(limits) - set(settable))
            if missing:
                raise ConfigError(
                    f"{missing[0]}={limits[missing[0]]} has no meaning for {arguments.pretrained!r}:"
                    f" its {type(processor.image_processor).__name__} has no pixel limits.",
                    where=WHERE,
                    hint="Leave it out.",
                )
            processor.image_processor = AutoImageProcessor.from_pretrained(folder, **options, **limits)
        _check_expansion(processor.image_processor, arguments.pretrained)
    return processor


_UNEVEN = ((31, 29), (90, 30), (400, 30), (150, 230))


def _check_expansion(image_processor: BaseImageProcessor, pretrained: str) -> None:
    """ConfigError for one that ignores its `patch_expand_factor`, to whose multiples pictures are resized.

    Those of glmga and glm5_next for Pillow do, in transformers 5.23: small pictures get a quarter of their tokens.
    """
    factor = getattr(image_processor, "patch_expand_factor", None) or 1
    if factor == 1:
        return
    from PIL import Image

    shown = [Image.new("RGB", size) for size in _UNEVEN]
    grids = image_processor(shown, return_tensors="pt")["image_grid_thw"].tolist()
    if any(side % (image_processor.merge_size * factor) for _, *sides in grids for side in sides):
        raise ConfigError(
            f"{pretrained!r} states patch_expand_factor={factor}, which transformers' {type(image_processor).__name__} ignores.",
            where=WHERE,
            hint="With torchvision transformers has another one: pip install torchvision.",
        )


def _processor_class(folder: Path, arguments: PromptArguments) -> Any:
    """The processor class named in the files, else the one of the model type."""
    import transformers
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    for name in ("processor_config.json", "preprocessor_config.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            named = json.loads((folder / name).read_text(encoding="utf-8")).get("processor_class")
            if named and hasattr(transformers, named):
                return getattr(transformers, named)
    return getattr(transformers, PROCESSOR_MAPPING_NAMES[load_config(folder, arguments).model_type])


def _without_video(processor_class: Any) -> Any:
    """The same processor class without its video part."""

    def get_attributes(cls: object) -> list[str]:
        return [name for name in processor_class.get_attributes() if "video" not in name]

    def from_args_and_dict(cls: Any, args: Any, *rest: Any, **options: Any) -> object:
        parts = dict(
            zip(cls.get_attributes(), args, strict=True)
        )  # by name: llava_next_video takes its video part first
        return processor_class.from_args_and_dict.__func__(cls, [], *rest, **parts, **options)

    methods: dict[str, object] = {
        "get_attributes": classmethod(get_attributes),
        "from_args_and_dict": classmethod(from_args_and_dict),
    }
    # read by some processors when they are made or saved (smolvlm, minicpmv4_6, ernie4_5_vl_moe), but never used
    stand_in = {
        "num_frames": 0, "fps": 0, "video_sampling": {}, "slice_mode": False, "downsample_mode": "16x", "font": "",
    }  # fmt: skip
    methods["video_processor"] = SimpleNamespace(**stand_in)
    part = inspect.signature(processor_class.__init__).parameters.get("video_processor")
    if part is not None and part.default is part.empty:  # smolvlm and gemma4 can't be made without naming one
        made = processor_class.__init__
        defaults = (None, *(made.__defaults__ or ()))  # all parameters after it have one
        methods["__init__"] = FunctionType(made.__code__, made.__globals__, made.__name__, defaults, made.__closure__)
    return type(processor_class.__name__, (processor_class, _given_parts()), methods)


def _given_parts() -> Any:
    """transformers' base of processors, which reads its parts by their order, without those that are None."""
    from transformers import ProcessorMixin

    def initialise(self: object, *parts: object, **options: object) -> None:
        options = {name: value for name, value in options.items() if name != "video_processor"}
        ProcessorMixin.__init__(self, *(part for part in parts if part is not None), **options)

    return type("GivenParts", (ProcessorMixin,), {"__init__": initialise})


_MISSING = re.compile(
    r"requires the (?P<one>\w+) library but it was not found"
    r"|Missing optional dependencies: (?P<some>\w+(?:, \w+)*)"
    r"|packages that were not found in your environment: (?P<own>\w+(?:, \w+)*)"
)


def _missing(error: Exception) -> str:
    """The packages that an error asks for, one or several, as pip takes them; empty for another error."""
    for each in causes(error) if isinstance(error, ImportError) else ():
        package = (getattr(each, "name", "") or "").partition(".")[0]
        if isinstance(each, ModuleNotFoundError) and package and package not in NOT_BESIDE:
            return package  # inkling needs scipy, and imports it without a word
    found = _MISSING.search(str(error))
    return (found["one"] or found["some"] or found["own"]).lower().replace(",", "") if found else ""


@contextlib.contextmanager
def naming(pretrained: str, part: str) -> Iterator[None]:
    """Converts any exception from loading a part of a checkpoint into a ConfigError that names both.

    transformers, tokenizers, safetensors and torch raise many kinds of exceptions for damaged or missing files.
    """
    try:
        yield
    except ConfigError:
        raise
    except Exception as error:  # third-party code on a user's files
        own_code = "trust_remote_code" in str(error)
        if not own_code and (missing := _missing(error)):
            raise ConfigError(
                f"The {part} of {pretrained!r} can't be loaded: it needs {missing.replace(' ', ' and ')}.",
                where=WHERE,
                hint=f"Install what transformers needs for this type: pip install {missing}.",
            ) from error
        first = str(error).strip().split("\n")[0][:300].rstrip(".")
        hint = "A file may be damaged or missing: fetch the checkpoint again."
        if own_code:
            hint = "It comes with its own code: read it, then add trust_remote_code=true."
        elif broken := broken_package(error):
            hint = (
                f"The package {broken} can't be imported here: install a build of it that fits torch, or uninstall it."
            )
        elif isinstance(error, ImportError) and "FlashAttention" in str(error):
            hint = "Write attn_implementation=sdpa, or install flash-attn, which needs a GPU."
        raise ConfigError(
            f"The {part} of {pretrained!r} can't be loaded ({type(error).__name__}: {first}).",
            where=WHERE,
            hint=hint,
        ) from error
