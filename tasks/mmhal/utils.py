"""MMHal-Bench: the judge's prompt with its examples, the rating in a reply, and the share of answers with hallucinations.

Source: Sun et al. 2023, arXiv:2309.14525; Eval/eval_gpt_mmhal.py of github.com/llava-rlhf/LLaVA-RLHF at 830a083.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.metrics import mean, smooth

INTRODUCTION = "Please act as an impartial and objective judge and evaluate the quality of the response provided by a Large Multimodal Model (LMM) to the user question. Your evaluation should be mainly based on whether the response is informative, and whether the response contains any hallucination. Hallucination, in this context, refers to a situation where the LMM generates a response that includes information not present or implied in the image or previous conversation. A hallucination could be a false claim about an object, action, emotion, or any other detail that is not grounded in the image.\n\nFor clarity, consider these examples:\n\n"  # noqa: E501
PARTS = (
    "Image Contents",
    "Question",
    "Standard Human-Generated Answer",
    "LMM Response to Evaluate",
    "Analysis",
    "Hallucination",
)
EXAMPLES = [
    ("Lynx, Cat", "How many cats can you see in this image?", "There are two cats visible in the image.", "There is one cat in the image.", "The LMM's response is false because it claims there is only one cat in the image, when in fact there are two.", "Yes."),  # noqa: E501
    ("Tree, Plant, Panda, Animal", "What can you see from this photo?", "In this photo we can see branches. We can see a panda on a branch. The background is blurry.", "In the photo, I can see a large black and white panda sitting on a tree branch. The image captures the panda's unique appearance and its natural habitat, showcasing the beauty and rarity of these animals.", "The LMM's response is not false because it does not make any false claims about the image contents. For example, it does not claim that the panda is eating bamboo.", "No."),  # noqa: E501
    ("Fashion accessory, Mammal, Dog, Umbrella", "Describe this image in details.", "In this picture I can see a dog laying under a yellow umbrella on a beach, and there is a rope on the right side. In the background I can see few persons talking or lying. At the top of the image, I can see the blue and clear sky.", "The image features a brown dog laying on the sand at the beach, underneath a yellow umbrella. The dog is positioned near the water, and there are people in the background. The beach is sandy, and the sun is shining, creating a pleasant atmosphere. The dog is enjoying the shade provided by the umbrella, which is a common way to protect pets from the sun's harmful rays. The presence of people in the background suggests that the beach is a popular spot for leisure activities, such as sunbathing, swimming, and relaxing.", "The LMM's response is false because it claims that the dog is positioned near the water, but there is no water in the image.", "Yes."),  # noqa: E501
    ("Clothing, Luggage and bags, Man, Building, Woman, Person", "Where is this photo taken?", "From the slogan \"Welcome to Houston, Texas\", we can infer that this photo is taken at an airport in Houston, Texas.", "This photo is taken at an airport, specifically at the entrance of a terminal. However, the specific location of this airport cannot be determined from the image.", "Although the LMM's response does not explicitly mention the location \"Houston, Texas\" and does not perfectly answer the question, it makes no false claims about the image contents. Therefore, this response is not considered hallucination. It is OK if the LMM fails to directly answer the question, expresses uncertainty, or cannot include all the objects or details in the human-generated answer.", "No."),  # noqa: E501
    ("Tree, Tower", "What environmental concerns are involved in this photo?", "This photo shows a smokestack emitting smoke. It may cause severe air pollution which threatens human health.", "In the photo, there are several environmental concerns related to the smokestack emitting smoke. The smoke from the smokestack is a byproduct of industrial processes, which can contribute to air pollution, climate change, and negative impacts on human health. The smoke contains harmful pollutants, such as particulate matter, sulfur dioxide, nitrogen oxides, and carbon monoxide, which can lead to respiratory problems, heart disease, and other health issues. Additionally, the smoke contributes to the greenhouse effect, which can lead to global warming and climate change. The smokestack's emissions also affect the environment, as they can harm wildlife, vegetation, and ecosystems. Therefore, it is essential to address these environmental concerns by implementing measures to reduce emissions and promote sustainable practices in industrial processes.", "Although the LMM's response is significantly longer than the standard human-generated answer, it does not contain any false claims about the image contents. Instead, it provides additional general information about the environmental concerns, which can be inferred from the smoke emission. Such detailed analysis or reasoning should be considered as a positive aspect, as long as it contains no false claims.", "No."),  # noqa: E501
]  # fmt: skip
TASK = (
    "With these examples in mind, please help me evaluate whether the response by the LMM is informative, and whether hallucination exists in it, based on the comparison between the LMM's response and the factual information provided in the image contents, question, and the standard human-generated answer below.\n\n"  # noqa: E501
    "Please note that the standard human-generated answer may only contain factual information but may not give a detailed analysis. Also, the standard human-generated answer may not be completely comprehensive in describing all the objects and their attributes, so please be a bit more cautious during evalutation. LMM's detailed analysis or reasoning should be encouraged.\n\n"  # noqa: E501
    "To evaluate the LMM responses, first, begin your evaluation by providing a short explanation. Second, after providing your explanation, you must rate the response by choosing from the following options:\n"  # noqa: E501
    "- Rating: 6, very informative with good analysis or reasoning, no hallucination\n"
    "- Rating: 5, very informative, no hallucination\n"
    "- Rating: 4, somewhat informative, no hallucination\n"
    "- Rating: 3, not informative, no hallucination\n"
    "- Rating: 2, very informative, with hallucination\n"
    "- Rating: 1, somewhat informative, with hallucination\n"
    "- Rating: 0, not informative, with hallucination\n\n"
)
RATING = re.compile(r"rating:[\s*]*(\d+(?:[.,]\d+)?)((?:(?!rating:)[^\n])*)", re.IGNORECASE)
ANOTHER = re.compile(
    r"[\s*]*(?:[-–—~/%?+]|\.{2,}|…|to\b|out\b|half\b|and\b)|.*\b(?:or|to|maybe|perhaps|but|not|if)\b[\s*]*(?:a[\s*]+)?(?:\d|zero|one|two|three|four|five|six)",
    re.IGNORECASE,
)
"""What follows a rating on its line where it is a range, a fraction, or one of two."""


def judge_prompt(doc: Mapping[str, Any], answer: str) -> str:
    """Five examples, the ratings, and this answer with the picture's contents and a person's answer; no picture."""
    examples = (
        f"### Example {number}:\n" + "".join(f"- {part}: {text}\n" for part, text in zip(PARTS, texts, strict=True))
        for number, texts in enumerate(EXAMPLES, 1)
    )
    stated = (", ".join(doc["image_content"]), doc["question"], doc["gt_answer"], answer)
    asked = "\n".join(f"### {part}\n{text}\n" for part, text in zip(PARTS[:4], stated, strict=True))
    return INTRODUCTION + "\n".join([*examples, TASK + asked])


def verdict(reply: str) -> int | None:
    """The rating of 0 to 6 that a reply states; None if there is none, or a range, or there are several."""
    found = RATING.findall(reply)
    rating = found[0][0] if len({number for number, _ in found}) == 1 else ""
    if any(ANOTHER.match(rest) for _, rest in found):
        return None
    return int(rating) if rating in {"0", "1", "2", "3", "4", "5", "6"} else None


@smooth
def hallucination_rate(ratings: Sequence[float]) -> float:
    """The share of answers with a rating below 3."""
    return mean([float(rating < 3) for rating in ratings])
