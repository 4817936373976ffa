"""What the value of `--protocol_settings` may be."""

from mm_eval.config.arguments import Rule, is_text

SETTINGS = Rule(
    "names of settings of the protocol",
    lambda value: isinstance(value, (list, tuple)) and all(map(is_text, value)),
    lambda text: tuple(name.strip() for name in text.split(",") if name.strip()),
)
