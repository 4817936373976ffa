"""A document and a prompt block become the messages that a model gets."""
