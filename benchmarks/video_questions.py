"""Several questions on each video: a plain transformers loop against mm-eval, in one process.

    python benchmarks/video_questions.py VIDEOS QUESTIONS_A_VIDEO

Prints CPU seconds of each way as JSON, after a warm-up of each, and whether the answers are equal. The model is a random
LLaVA-OneVision (ViT 6 x 512 at 224 px, qwen2 8 x 512, 32,000 tokens), a video has 8 frames (513 tokens), an answer 16 tokens. The
frames are decoded before, so that only the model's work counts. plain: tensors and one `generate` for each question, at batch 1.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measure import SCRATCH, cpu_of
from reference_model import TEMPLATE, tokenizer
from workloads import ANSWER_TOKENS, ASKED, jpeg, read, same

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.types import FRAME_MARK, Clip, Instance

FRAMES, SIDE = 8, 224
STEPS = {"max_new_tokens": ANSWER_TOKENS, "min_new_tokens": ANSWER_TOKENS}


def build(folder: Path) -> Path:
    """Writes model and processor into a folder, once."""
    if (folder / "processor_config.json").exists():
        return folder
    import transformers as tf
    from mm_eval.models.hf.processor import _without_video

    torch.manual_seed(0)
    made = tokenizer("<video>", image_token="<image>")
    tower = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6, "num_attention_heads": 8}
    text = {"hidden_size": 512, "intermediate_size": 1344, "num_hidden_layers": 8, "num_attention_heads": 8}
    config = tf.LlavaOnevisionConfig(
        vision_config=tf.SiglipVisionConfig(image_size=SIDE, patch_size=14, vision_use_head=False, **tower),
        text_config=tf.Qwen2Config(vocab_size=32000, num_key_value_heads=8, pad_token_id=0, **text),
        image_grid_pinpoints=[[SIDE, SIDE]],
        image_token_id=made.convert_tokens_to_ids("<image>"),
        video_token_id=made.convert_tokens_to_ids("<video>"),
    )
    images = tf.LlavaOnevisionImageProcessorPil(
        size={"height": SIDE, "width": SIDE}, image_grid_pinpoints=[[SIDE, SIDE]]
    )
    videos = "{% if c['type'] == 'video' %}<video>\n{% elif c['type']"
    processor = _without_video(tf.LlavaOnevisionProcessor)(
        image_processor=images, tokenizer=made, num_image_tokens=(SIDE // 14) ** 2, vision_feature_select_strategy="full",
        chat_template=TEMPLATE.replace("{% if c['type']", videos),
    )  # fmt: skip
    model = tf.LlavaOnevisionForConditionalGeneration(config)
    model.generation_config = tf.GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def instances(first: int, videos: int, questions: int) -> list[Instance]:
    """Questions on videos, numbered from `first`, so that a second call shares nothing with the first."""
    made = []
    for number in range(first, first + videos):
        frames = [read(jpeg(FRAMES * number + place)) for place in range(FRAMES)]
        seconds = tuple(map(float, range(FRAMES)))
        clip = Clip(0, seconds, tuple(range(FRAMES)), FRAMES, float(FRAMES), 1.0, f"{number}.mp4")
        for asked in range(questions):
            parts = [{"type": "image"}] * FRAMES + [{"type": "text", "text": ASKED[asked % len(ASKED)]}]
            made.append(
                Instance(
                    "generate_until", "videos", number * questions + asked, {}, [{"role": "user", "content": parts}],
                    generation_kwargs=STEPS, images=partial(list, frames), clips=(clip,),
                    image_digests=tuple(f"{FRAME_MARK} {number} {place}" for place in range(FRAMES)),
                )
            )  # fmt: skip
    return made


def ours(model: Any, rows: list[Instance]) -> list[Any]:
    found = {row.doc_id: answer.output for row, answer in model.generate(rows)}
    return [found[row.doc_id] for row in rows]


@torch.inference_mode()  # type: ignore[untyped-decorator]
def plain(model: Any, rows: list[Instance]) -> list[Any]:
    """A loop over the questions as anyone would write it."""
    network, answers = model.runtime.model, []
    for row in rows:
        model.writer._preprocessor._kept.clear()  # a loop preprocesses each question's video
        prompt = model.writer.write(row)
        ids = torch.tensor([prompt.ids])
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **prompt.pictures[0].tensors}
        new = network.generate(**inputs, **STEPS, do_sample=False)[0, ids.shape[1] :]
        answers.append(model.writer.tokenizer.decode(new, skip_special_tokens=True))
    return answers


def main(videos: int, questions: int) -> None:
    torch.set_num_threads(1)
    folder = build(SCRATCH / "video-model")
    model = MODELS.get("hf")({"pretrained": str(folder)}, ModelSettings(batch_size="auto", device="cpu"))
    model.prepare()
    warm, rows = instances(0, 1, 1), instances(1000, videos, questions)
    ours(model, warm), plain(model, warm)
    seconds, mine = cpu_of(lambda: ours(model, rows))
    plain_seconds, theirs = cpu_of(lambda: plain(model, rows))
    print(json.dumps({"plain": plain_seconds, "ours": seconds, "same": same(mine, theirs)}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
