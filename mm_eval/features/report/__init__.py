"""Pages and tables: report.html of a run, release tables, and the server that shows run folders."""

VERBS = {
    "report": ("report_verb", "report.html of a run, or a release table of several"),
    "export": ("export_verb", "runs in the formats of other tools: inspect_ai, lm-eval, lmms-eval, the hub"),
    "view": ("view_verb", "serve run folders on this machine: tables, samples, pictures in full size, runs that go on"),
}
