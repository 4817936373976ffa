"""Prompts as a model gets them."""

VERBS = {
    "show": ("verb", "the prompt of a doc as a model gets it, without loading weights"),
}
