"""The functions of colours.yaml: data, pictures, prompt and a metric."""

from mm_eval.scoring.metrics import metric

COLOURS = {"red": (220, 30, 30), "green": (30, 180, 60), "blue": (30, 30, 220)}


def dataset(**kwargs):
    """Three docs in the split `test`."""
    return {"test": [{"answer": name} for name in COLOURS]}


def pictures(doc):
    """One picture in the colour of the answer."""
    from PIL import Image

    return [Image.new("RGB", (64, 64), COLOURS[doc["answer"]])]


def question(doc, model_specific_prompt_kwargs):
    """The question, and the instruction that suits the model."""
    return "Which colour is this?" + model_specific_prompt_kwargs["post_prompt"]


@metric("names_the_colour", output_type="generate_until", aggregation="mean")
def names_the_colour(references, predictions):
    """1 where the answer names the right colour and no other."""
    named = [name for name in COLOURS if name in predictions[0].lower()]
    return float(named == [references[0]])
