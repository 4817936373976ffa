"""What the value of `--executor` may be."""

from mm_eval.config.arguments import Rule

EXECUTOR = Rule("ray", lambda value: value == "ray")
