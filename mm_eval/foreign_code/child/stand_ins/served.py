"""Which modules of lmms-eval and lm-eval are answered here, and by which of our files."""

from __future__ import annotations

FILTERS, METRICS, TASKS = "filters", "metrics", "tasks"

SERVED: dict[str, tuple[str, ...]] = {
    "api": (),
    "api.filter": (FILTERS,),
    "api.group": (TASKS,),
    "api.instance": ("instance",),
    "api.metrics": (METRICS,),
    "api.reasoning": ("reasoning",),
    "api.registry": ("registry",),
    "api.task": (TASKS, "instance"),
    "azure_openai_compat": ("helpers",),
    "config": (),
    "config.group": (TASKS,),
    "evaluator_utils": ("helpers",),
    "filters": (FILTERS,),
    "filters.extraction": (FILTERS,),
    "filters.selection": (FILTERS,),
    "filters.transformation": (FILTERS,),
    "imports": ("helpers",),
    "llm_judge": ("llm_judge",),
    "llm_judge.base": ("llm_judge",),
    "llm_judge.factory": ("llm_judge",),
    "llm_judge.protocol": ("llm_judge",),
    "llm_judge.utils": ("llm_judge",),
    "loggers": (),
    "loggers.evaluation_tracker": ("helpers",),
    "tasks": (),
    "tasks._task_utils": (),
    "tasks._task_utils.default_template_yaml": ("files",),
    "tasks._task_utils.file_utils": ("files",),
    "tasks._task_utils.video_loader": ("files",),
    "utils": ("helpers",),
    "verifiers": ("verifiers",),
    "verifiers.base": ("verifiers",),
    "verifiers.composite": ("verifiers",),
    "verifiers.extractors": ("verifiers",),
    "verifiers.gemini": ("verifiers",),
    "verifiers.openai": ("verifiers",),
    "verifiers.pipeline": ("verifiers",),
    "verifiers.rule": ("verifiers",),
}
"""{module, without the suite's name: the files here whose public names it has}."""
