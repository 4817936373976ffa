"""What was written for former interfaces of mm-eval still runs: adapters that have members which `Model` had once."""

ADAPTERS = {"former": "adapters"}
OLD_MEMBERS = {
    **{name: f"facts.{name}" for name in ("prompt_keys", "chat", "bundled", "local", "tries_first", "travels")},
    **{name: f"facts.{name}" for name in ("constants", "findings", "ran_on", "price", "shares")},
    **{"video_rule": "facts.frames_rule", "video_input": "facts.frames_as", "function_of_key": "facts.shares"},
    **{"machine": "facts.device and facts.parameters", "dollars": "facts.price", "account": "notes(usage)"},
    **dict.fromkeys(("adopt", "expect", "recall"), "facts, which is set"),
    **dict.fromkeys(("check_arguments", "check_generation", "check_requests", "check_videos"), "check(first, more)"),
    **dict.fromkeys(("stop_soon", "finish"), "stop(at_once)"),
    **dict.fromkeys(("create", "another"), "__init__"),
    **{"preview": "show(instance)", "prepare_once": "prepare"},
}
"""The former members of `Model`, and where each stands now."""
