"""Runs under named protocols: their verdicts, and the check of the protocols themselves."""

from mm_eval.values.features import Option

OPTIONS = {
    "protocol": (
        ("run", "show"),
        Option(
            "protocol",
            "NAME",
            "a named protocol of a report: its prompts, generation, pictures and graders, unless an option states another "
            "(`mm-eval protocols` lists them)",
        ),
        Option(
            "protocol_settings",
            "A,B",
            "only these settings of the protocol, such as prompt,gen_kwargs",
            rule="options:SETTINGS",
        ),
    ),
    "comparison": (
        ("score",),
        Option(
            "protocol",
            "NAME",
            "compare a run that has no protocol with this one's reported numbers (a run under a protocol keeps its own)",
        ),
    ),
}
