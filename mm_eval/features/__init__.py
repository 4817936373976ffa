"""One folder a feature. Each brings its verbs, options, task keys, columns and pages; the core imports none of them.

What a feature brings stands as plain data in its `__init__.py`, which imports nothing heavy:

VERBS      commands: {"compare": ("compare_verb", "two runs or more, paired by doc")}, a file of the folder and a line of help.

But for those that are data it is {name: "file:attribute"}, imported when it is used (`brought` finds it):

TASK_KEYS  keys of task files that say how answers are scored: a `TaskKey` (config/task_config.py).
LISTED_KEYS {key of task files: (a word on its metric in the list of tasks, the metric where the file names none)}, as data.
QUESTION_KEYS  the same of keys that decide what is asked.
OUTPUT_TYPES {output_type of another suite: the keys that say it here}, as data.
AMONG_GENERATION {entry of another suite's generation_kwargs: the key that says it here}, as data.
TURNS      what makes the further turns of a task: a class of `Turns` (values/conversation.py) with of_task(config, facts of the
           model) and recorded(config, what its `to_json` gave), which give None for a task that is none of its business.
DECLARED   {key: what it is called} of what a file in a folder of tasks may declare by that key, beside tasks and groups.
RUN_PARTS  what it adds to a run: a subclass of `RunPart` (opening.py).
NEEDED     {name of a run's part, or of an entry of REQUESTS: names of options and keys of task files}: a new run needs it where
           one is stated, and others do not import it. Where names are not enough, a function of the `__init__.py` in their place:
           (request or None, configs of tasks) -> whether it is needed. What has no entry is in every run.
RESULT_KEYS the keys that it adds to results.json. A footer, a page part or a row note of such a name is for results with the key.
OPTIONS    options that it adds to sets of options ("run", "score", "model": of each verb with a model; `OPTIONS` of request.py),
           or to its own: {title in the help: (sets, each an `Option`)}, as data.
ADAPTER_OPTIONS  {option that names adapters: option of their arguments}, which a stranger's run folder must not make us ask.
MEDIA      what is shown as frames: a module as `Medium` (data/frames.py).
RUNNERS    what runs task code in a process of its own: a `Runner` (config/runner.py).
ADAPTERS   adapters that were written for the former interface of `Model`: a module with adopt_class(class, former members),
           adopt_values(model) and old_member(model, name).
OLD_MEMBERS {former member of `Model`: where it stands now}, as data; an adapter that has one is given to `ADAPTERS`.
EXECUTORS  where a model answers (`--executor NAME`): (model, request) -> the model there.
SHARED     what several runs that go on side by side share: (requests by name) -> a context with the requests to run.
KEPT       what a finished run is known by, so that its command need not score again: a module with keep_report(prepared run, run
           folder, spec, report) and kept_report(prepared run, run folder, spec) -> the report, or None where anything changed.
LAUNCHERS  programs that start several processes for one run: a module with place(count) -> `Processes`, launched(processes, run
           folder, claim) -> a context with a `Launch`, and all_together() -> a context (engine/ranks.py).
LINKS      what the runs of several models know of each other: (requests by name, how many run at a time) -> an object with the
           requests to run, and ended(name), which is called when a run ended for good.
AGAINST    a request that stops when it is decided against a finished run: (request, that run's folder) -> the request.
CONFIGS    what `mm-eval run --config FILE` does with a file that has this key: (args, its options as a request) -> exit code.
PAGES      the page of a finished run: (recorded run) -> its path.
FINDINGS   what `mm-eval diagnose` finds in the samples of a task that have the field NAME: a class with add(row) and found() ->
           (kind, docs with it, of how many, sentence, likely cause, what mends it, [(doc id, answer)]) for each fault.
PAGE_PARTS the part above the samples of a run's page: (recorded run) -> an object with
           look(task, row), which gets each sample, and about(), its data after the last one.
ROW_NOTES  notes on a row of a run's table: (recorded run, name of a task or group) -> sentences.
MARKS      a mark and a verdict on a number of a table of models: (recorded run, task, key) -> two texts.
STUDIES    folders of runs that have a page of their own: (folder, include_path) -> None for another folder, or an object with
           write_page(path or None) -> its path, text(md, latex or csv), write_figures(folder) -> paths.
TOGETHER   pages of `mm-eval view` on several runs: (run folders, include_path) -> None where there is nothing to show, or an
           object with `title`; `leads`, whether it is the first page; state(), a text that changes when the page would; said(), a
           sentence for the index; page() -> the page in pieces; and about(), what a page without samples shows now, else None.
           Asked again when a run begins.
TABLE_NOTES notes below a table of models: (column, recorded run) -> sentences.
MODELS_PARTS tables below that of all models, on its page, and as a sentence in its other forms: (recorded runs) -> a `TablePart`
           (results/table.py), or None.
GRADERS    what gives values beside the rules of tasks: a module as `Graders` (results/graders.py), by the key in results.json.
CELLS      what stands in place of the numbers of a row that has none: (results, name of the row) -> text, "" for nothing.
FOOTERS    lines below the table of a run: (results) -> lines.
EXPORTS    formats of other tools: (recorded run, folder, name, whether it is the only one) -> written files.
CARDS      parts of a model card: (recorded runs) -> data.
SHOWS      what `mm-eval show --NAME` shows in place of a prompt: (args, prepared run) -> None.
SHOWN      lines below a prompt: (prepared run, task) -> lines.
COMMANDS   commands as the users of other programs type them: a module with words_of(verb, words, known options) -> (our words,
           notes), options_of(options of `evaluate`, known options) -> (our options, notes), and verb_of(word, words) -> what a
           first word means that is not a command here, or "".
PEER_FLAGS options of other suites for which it has the counterpart: {name: fields of a `Flag` of features/peers}, as data.
OTHERWISE  {option: pattern of values}, as data: we could read such a value of `mm-eval run`, but users of another program mean
           something else by it. `COMMANDS` get the words of `run` with one, those of other verbs, and what we can't read.
NAMES      names of tasks that other programs use, where no task file declares them: (name) -> None, or an object with
           `ours`, names of tasks here with commas, and `note`; ConfigError for one that has no counterpart.
REQUESTS   models as other programs name them: (request) -> (the request with an adapter of ours and its arguments, notes).
TRAINING   what `mm_eval.training` has.
REPORTED_SETTINGS  what a setting of a published report is as options of a run: (request, {task's config: the settings}, whether
           on sample data, the report, the option that names it) -> fields of the request.
REPORTS    where published numbers with their settings come from: a module as `study.ablation` uses it.
"""
