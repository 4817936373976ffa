"""The prompts of ChartQAPro for direct answers, by the type of the question.

Source: the appendix of arXiv:2504.05506, as in VLMEvalKit, without the indentation that its code puts into the text.
"""

INTRODUCTION = {
    "Factoid": "You are given a factoid question that you need to answer based on the provided image.",
    "Multi Choice": "You are given a question along with different possible answers. You need to select the correct answer from "
    "them based on the provided image.",
    "Conversational": "You are given a multi-turn conversation, and your job is to answer the final question based on the "
    "conversation history and the information in the provided image.",
    "Fact Checking": "You are given a fact statement that you need to assess based on the provided image.",
    "Hypothetical": "You are given a hypothetical question that you need to answer based on the provided image.",
}
FORM = {
    "Multi Choice": "one of the options letters only: a, b, c or d (just the letter itself without any additional text)",
    "Fact Checking": "either true or false (without any additional text)",
}
"""What the answer is; a phrase for the other types, which have a sentence on units, too."""
UNITS = (
    " Do not generate units. But if numerical units such as million, m, billion, B, or K are required, use the exact notation "
    "shown in the chart."
)
TEMPLATE = """{introduction}
Your answer should be {form}. If the question is unanswerable based on the information in the provided image, your answer \
should be unanswerable.{units}
If there are multiple answers, put them in brackets using this format [\u2019Answer1\u2019, \u2019Answer2\u2019].
Remember to generate the final answer only without any additional text!"""


def prompt(kind: str) -> str:
    """The instruction for a type of question."""
    form = FORM.get(kind, "a single word, number, or phrase")
    return TEMPLATE.format(introduction=INTRODUCTION[kind], form=form, units="" if kind in FORM else UNITS)
