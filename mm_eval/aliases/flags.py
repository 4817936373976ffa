"""Every option of `lm_eval`, `lm-eval run`, `lmms_eval`, VLMEvalKit's run.py and `inspect eval` that mm-eval has not itself.

Read from lm-eval 0.4.2 to 0.4.13, lmms-eval 0.1.2 to 0.7.3, VLMEvalKit of August 2026 and inspect_ai 0.3.285.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flag:
    """An option of another suite.

    takes: the words of its value: 0, 1, "?" (none or one) or "+" (one or more).
    ours: the option here that takes its value. into: the option here that takes it as `NAME=value`.
    form: the value as ours has it, where theirs stands for {}; "" for theirs itself.
    means: words of a command that say the same, its value apart.
    note: why it does nothing here. refused: why the command can't be run with it, and what to write.
    """

    takes: int | str = 1
    ours: str = ""
    into: tuple[str, str] | None = None
    form: str = ""
    means: tuple[str, ...] = ()
    note: str = ""
    refused: str = ""


SHORT = {
    "-m": "--model", "-M": "--model", "-t": "--tasks", "-a": "--model_args", "-f": "--num_fewshot", "-b": "--batch_size",
    "-o": "--output_path", "-L": "--limit", "-c": "--use_cache", "-s": "--log_samples", "-E": "--samples", "-w": "--write_out",
    "-v": "--verbosity", "-x": "--predict_only", "-C": "--config", "-n": "--repeats", "-T": "--task_arg", "-S": "--solver_arg",
}  # fmt: skip
"""Short options, of which mm-eval has none. lm-eval has called the model -m and -M."""

_LOGGED = "answers and scores of every document are always in samples/ of the run folder"
_SHOWN = "prompts are in samples/ of the run folder, and `mm-eval show TASK` prints one without a run"
_SETTINGS = "a task's settings are in its file; --gen_kwargs, --num_fewshot and others of `mm-eval run` override some."
_STUDY = "`mm-eval plan` says how many documents a difference takes"
_COMPARE = "runs are compared afterwards: mm-eval compare RUN_A RUN_B"
_TRACKER = "this installation has no such tracker; results.json and `mm-eval report` have the scores"
_AGENTS = "mm-eval runs no agents or solvers; code of a model runs only as the tool python (TASK@python)"
_KEPT = "every answer is on disk as soon as it is there, and the same command continues where the run stopped"
_SCORED = "log-likelihoods are requested where a task scores by them"
_TOOLS = "tools are those of the task's file, and --tools python adds Python to every task"
_ONE_PROMPT = "an answer is requested again until the server gives one (max_retries= in --model_args)"

LM_EVAL = {
    "log_samples": Flag(0, note=_LOGGED),
    "write_out": Flag(0, note=_SHOWN),
    "show_config": Flag(0, note="results.json has the whole config of every task"),
    "check_integrity": Flag(0, note="tasks are checked before the first request; `mm-eval validate TASK` checks gold answers"),
    "cache_requests": Flag("?", note="prompts are written while the model answers, so there is nothing to cache"),
    "max_batch_size": Flag(1, note="--batch_size auto measures what fits; --batch_size N states it"),
    "wandb_args": Flag("+", note=_TRACKER),
    "wandb_config_args": Flag("+", note=_TRACKER),
    "trackio_args": Flag("+", note=_TRACKER),
    "mlflow_args": Flag("+", note=_TRACKER),
    "hf_hub_log_args": Flag("+", note="nothing is pushed; `mm-eval report RUN --model_index FILE` writes part of a model card"),
    "confirm_run_unsafe_code": Flag(0, note="code that a model writes runs only in a sandbox, as the tool python (TASK@python)"),
    "trust_remote_code": Flag(0, into=("--model_args", "trust_remote_code")),
    "decontamination_ngrams_path": Flag(1, refused="there is no decontamination. Leave it out."),
}  # fmt: skip

LMMS_EVAL = {
    "log_samples_suffix": Flag(1, note="a run folder has the name that --output_path states"),
    "wandb_log_samples": Flag(0, note=_LOGGED),
    "swanlab_args": Flag(1, note=_TRACKER),
    "swanlab_log_samples": Flag(0, note=_LOGGED),
    "timezone": Flag(1, note="times are recorded in UTC"),
    "process_with_media": Flag(0, note="a task's functions always get the media of its documents"),
    "process_docs_parallel": Flag(1, note="scoring is parallel where it pays"),
    "launcher_args": Flag(1, note="no server is launched; start one, and give base_url=URL,model=NAME of the adapter openai"),
    "force_simple": Flag(0, note="an adapter has one mode: chat where the checkpoint has a chat template"),
    "show_task_to_terminal": Flag(0, note=_SHOWN),
    "agentic_trace_mode": Flag(1, note="every request and answer is in the journal"),
    "baseline": Flag(1, note=_COMPARE),
    "num_samples": Flag(1, ours="--repeats"),
    "offset": Flag(1, refused="name the documents: --samples '{\"mme\": [8, 9, 10]}'."),
    "tui": Flag(0, refused="there is no terminal interface; `mm-eval view RUN` serves run folders in a browser."),
    "power_analysis": Flag(0, refused=f"{_STUDY}."),
    **dict.fromkeys(("effect_size", "alpha", "power", "correlation", "std_a", "std_b"), Flag(1, note=_STUDY)),
    "max_tokens": Flag(1, refused="--gen_kwargs max_new_tokens=N caps one answer, --budget DOLLARS a whole run."),
    "num_processes": Flag(1, refused="start processes with torchrun --nproc_per_node N -m mm_eval ..."),
    "main_process_port": Flag(1, refused="start processes with torchrun --master_port PORT -m mm_eval ..."),
}  # fmt: skip

VLMEVALKIT = {
    "data": Flag("+", ours="--tasks"),
    "work_dir": Flag(1, ours="--output_path"),
    "mode": Flag(1),  # `command.mode`: infer, eval or all
    "verbose": Flag(0, means=("--verbosity", "INFO")),
    "debug": Flag(0, means=("--verbosity", "DEBUG")),
    "api_nproc": Flag(1, into=("--model_args", "num_concurrent")),
    "nproc": Flag(1, into=("--model_args", "num_concurrent")),
    "retry": Flag(1, into=("--model_args", "max_retries")),
    "timeout": Flag(1, into=("--model_args", "timeout")),
    "base_url": Flag(1, into=("--model_args", "base_url")),
    "extra_body": Flag(1, into=("--model_args", "extra_body")),
    "key": Flag(1, refused="keys are read from the environment: set OPENAI_API_KEY, or --model_args api_key_env=NAME."),
    "temperature": Flag(1, into=("--gen_kwargs", "temperature")),
    "top_p": Flag(1, into=("--gen_kwargs", "top_p")),
    "top_k": Flag(1, into=("--gen_kwargs", "top_k")),
    "repetition_penalty": Flag(1, into=("--gen_kwargs", "repetition_penalty")),
    "reuse": Flag(0, note="a run with the same --output_path continues where it stopped"),
    "reuse_aux": Flag("?", note="verdicts are kept in the journal like answers"),
    "rerun": Flag(0, note="another --output_path is another run; the same one continues where it stopped"),
    "ignore": Flag(0, note="documents that failed are left out of the mean, counted, and requested again by the same command"),
    "keep_failed": Flag(0, note="documents that failed are counted, and requested again by the same command"),
    "use_vllm": Flag(0, refused="write --model vllm --model_args pretrained=CHECKPOINT."),
    "custom_prompt": Flag(1, ours="--prompt_key"),
    "data_config": Flag(1, refused="a benchmark's settings are a task file: --include_path DIR."),
    "api_mode": Flag(0, note="requests to a server always run side by side"),
    "stream": Flag(0, note="answers are requested whole"),
    "thinker": Flag(0, note="reasoning is read apart from the answer; --gen_kwargs max_new_tokens=N leaves room for it"),
    "local_media": Flag(0, note="media are sent within the request"),
    "monitor_interval": Flag(1, note="progress is shown as it happens"),
}  # fmt: skip

INSPECT = {
    "model_base_url": Flag(1, into=("--model_args", "base_url")),
    "model_arg": Flag("+"),  # `command.model_args`
    "task_arg": Flag(1, refused=_SETTINGS),
    "task_config": Flag(1, refused=_SETTINGS),
    "epochs": Flag(1, ours="--repeats"),
    "epochs_reducer": Flag(1, note="repeats are reduced as the task's metric_list says"),
    "max_connections": Flag(1, into=("--model_args", "num_concurrent")),
    "max_retries": Flag(1, into=("--model_args", "max_retries")),
    "attempt_timeout": Flag(1, into=("--model_args", "timeout")),
    "chat_template_kwargs": Flag(1, into=("--model_args", "chat_template_kwargs")),
    "system_message": Flag(1, ours="--system_instruction"),
    "frequency_penalty": Flag(1, into=("--gen_kwargs", "frequency_penalty")),
    "presence_penalty": Flag(1, into=("--gen_kwargs", "presence_penalty")),
    "reasoning_effort": Flag(1, into=("--gen_kwargs", "reasoning_effort")),
    "stop_seqs": Flag(1, into=("--gen_kwargs", "until")),  # `command.stops`
    "log_dir": Flag(1, ours="--output_path"),
    "log_level": Flag(1, ours="--verbosity"),
    "cost_limit": Flag(1, note="a limit for each document is not kept; --budget DOLLARS limits the run"),
    "no_score": Flag(0, means=("--predict_only",)),
    "no_fail_on_error": Flag(0, means=("--fail_on_error", "false")),
    "continue_on_fail": Flag(0, means=("--fail_on_error", "false")),
    "sample_id": Flag(1, refused="name the documents: --samples '{\"mme\": [0, 3]}'."),
    "sample_shuffle": Flag("?", note="the order of documents changes no score"),
    "score_on_error": Flag(0, note="failures are counted and left out of the mean"),
    "retry_on_error": Flag("?", note=_ONE_PROMPT),
    "display": Flag(1, note="progress is a bar on a terminal and lines elsewhere"),
    "tags": Flag(1, note="a run folder has no tags"),
    "log_format": Flag(1, note="`mm-eval export RUN --format inspect` writes a run as an .eval log"),
    "batch": Flag("?", refused="answers are requested one by one. Leave it out."),
    "cache": Flag("?", note="the run folder keeps every answer; --use_cache DIR shares them with other runs"),
    "model_config": Flag(1, refused="state its contents: --model_args '{\"name\": value}'."),
    "generate_config": Flag(1, refused="state its contents: --gen_kwargs temperature=0,max_new_tokens=512."),
    **dict.fromkeys(
        (
            *("no_log_samples", "no_log_realtime", "log_images", "no_log_images", "log_model_api", "no_log_model_api"),
            *("log_refusals", "no_log_refusals", "log_shared", "no_score_display", "no_epochs_reducer", "cache_prompt", "trace"),
        ),
        Flag(0, note="the journal keeps every request and answer; nothing is logged beside it"),
    ),
    **dict.fromkeys(("log_buffer", "log_level_transcript"), Flag(1, note="every answer is on disk as soon as it is there")),
    **dict.fromkeys(
        ("max_samples", "max_tasks", "adaptive_connections", "max_dataset_memory"),
        Flag(1, note="num_concurrent= in --model_args says how many requests are made at a time"),
    ),
    **dict.fromkeys(
        (
            *("solver", "solver_arg", "solver_config", "sandbox", "approval", "review", "sentinel", "max_subprocesses"),
            *("max_sandboxes", "message_limit", "turn_limit", "token_limit", "time_limit", "working_limit", "model_role"),
        ),
        Flag(1, refused=f"{_AGENTS}. Leave it out."),
    ),
    "sandbox_prebuilt": Flag(0, refused=f"{_AGENTS}. Leave it out."),
    **dict.fromkeys(
        ("acp_server", "ctl_server"), Flag("?", note="the run serves nothing; `mm-eval view RUN` shows it as it goes")
    ),
    "notification": Flag("?", note="nobody is asked during a run"),
    "detach": Flag(0, note="the run stays in the foreground; nohup ... & puts it behind"),
    "json": Flag(0, note="the scores are in results.json of the run folder"),
    "checkpoint": Flag("?", note=_KEPT),
    **dict.fromkeys(
        (
            *("debug_errors", "traceback_locals", "no_ansi", "log_dir_allow_dirty", "bundle_overwrite", "embed_viewer"),
            *("no_retry_cleanup", "no_sandbox_cleanup", "retry_immediate", "no_retry_immediate"),
        ),
        Flag(0, note=_KEPT),
    ),
    **dict.fromkeys(("retry_attempts", "retry_wait", "retry_connections"), Flag(1, note=_ONE_PROMPT)),
    "bundle_dir": Flag(1, note="`mm-eval report RUN` writes a page that needs no server"),
    "debug_port": Flag(1, note="no debugger is started"),
    "model_cost_config": Flag(1, note="prices of models are stated by --prices FILE"),
    "logprobs": Flag(0, note=_SCORED),
    **dict.fromkeys(("top_logprobs", "prompt_logprobs"), Flag(1, note=_SCORED)),
    **dict.fromkeys(
        ("num_choices", "best_of"),
        Flag(1, refused="--repeats N asks for N answers, and the metric_list says how they count."),
    ),
    **dict.fromkeys(
        ("reasoning_tokens", "reasoning_mode", "effort", "logit_bias", "response_schema", "modalities"),
        Flag(1, refused="a field of one vendor's requests is stated in --model_args extra_body={\"field\": value}."),
    ),
    **dict.fromkeys(("reasoning_history", "reasoning_summary"), Flag(1, note="reasoning is kept apart from the answer")),
    "max_tool_output": Flag(1, note=_TOOLS),
    **dict.fromkeys(
        ("parallel_tool_calls", "no_parallel_tool_calls", "internal_tools", "no_internal_tools"), Flag(0, note=_TOOLS)
    ),
    "fallback_models": Flag(1, refused="one model answers; another one is a run of its own. Leave it out."),
    "model_spec": Flag(1, refused="write --model NAME --model_args K=V,... for each model; both may be given more than once."),
    "run_config": Flag(1, refused="write its options, or --config FILE with `models:` and `tasks:`."),
    "id": Flag(1, note="a run folder has the name that --output_path states"),
    **dict.fromkeys(
        (
            *("scanner", "scanner_arg", "scans", "scan_filter", "scan_name", "scan_tags", "scan_metadata", "scan_model"),
            *("scan_model_arg", "scan_model_base_url", "scan_model_config", "scan_model_role", "scan_generate_config"),
        ),
        Flag(1, note="answers are searched for faults by `mm-eval diagnose RUN`"),
    ),
}  # fmt: skip

OF_PARTS: dict[str, Flag] = {
    "use_verifier": Flag(0, refused="there is no verifier model; --judge NAME --judge_args model=... judges answers."),
    "judge_base_url": Flag(into=("--judge_args", "base_url")),
    "judge_key": Flag(refused="keys are read from the environment: --judge_args api_key_env=NAME."),
    "judge_api_nproc": Flag(into=("--judge_args", "num_concurrent")),
    "judge_retry": Flag(into=("--judge_args", "max_retries")),
    "judge_timeout": Flag(into=("--judge_args", "timeout")),
    "video_llm": Flag(0, into=("--model_args", "video"), form="file"),
    "fps": Flag(ours="--video", form="fps={}"),
    "nframe": Flag(ours="--video", form="frames={}"),
    "pack": Flag(0, refused="questions on one video are asked one by one. Leave it out."),
    "use_subtitle": Flag(0, refused="subtitles are a task of their own, such as videomme_w_subtitle."),
}
"""Those about judges and videos."""
FLAGS = {**INSPECT, **VLMEVALKIT, **LMMS_EVAL, **LM_EVAL, **OF_PARTS}
"""By name, without the dashes and with underscores. Where two suites have one option, they mean the same by it."""

ARGUMENTS = {
    **dict.fromkeys(("rewrite_requests_cache", "delete_requests_cache"), LM_EVAL["cache_requests"]),
    "evaluation_tracker": Flag(
        note="the run folder has everything; wandb_args= and its like send the scores elsewhere"
    ),
    "verbosity": Flag(note="the level of Python's logging is the caller's"),
    "cli_args": Flag(note="the options of this call are all there is"),
    "datetime_str": Flag(note="a run folder has the name that output_path= states"),
    "distributed_executor_backend": Flag(
        note="processes are found by torchrun's variables; executor='ray' is the other way"
    ),
}
"""Arguments of `simple_evaluate` that no command has."""
SEEDS = ("random_seed", "numpy_random_seed", "torch_random_seed", "fewshot_random_seed")
"""Its seeds, the last the one that a run here has."""

PROGRAMS = (
    *(
        "lm_eval",
        "lm-eval",
        "lmms_eval",
        "lmms-eval",
        "mm_eval",
        "mm-eval",
        "accelerate",
        "torchrun",
        "python",
        "python3",
    ),
    *("uv", "env", "inspect", "vlmutil", "srun"),
)
"""What a command of another suite may begin with, before its own words."""

VERBS = {
    "eval": "Write mm-eval run, or nothing: mm-eval --tasks mme --model hf --model_args pretrained=...",
    "tasks": "Write mm-eval ls tasks.",
    "models": "Write mm-eval ls models.",
    "version": "Write mm-eval --version.",
    **dict.fromkeys(("ui", "tui", "serve", "mcp"), "`mm-eval view RUN` serves run folders in a browser."),
    "power": f"{_STUDY}.",
    "list": "Write mm-eval ls tasks.",
    "eval-set": "Write mm-eval run --config FILE with several `models:`.",
    "eval-retry": "Write the command of the run again: it continues where it stopped.",
    "log": "`mm-eval view RUN` shows a run folder, and results.json is JSON.",
}
"""Commands of other suites, and what to write."""
LISTS = {
    "list": "tasks",
    "list_groups": "groups",
    "list_tags": "tags",
    "list_subtasks": "tasks",
    "list_with_num": "tasks",
}
"""Values of --tasks with which other suites list their tasks, and what `mm-eval ls` lists."""
