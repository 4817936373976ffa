#!/usr/bin/env bash
# evalscope asks multiple-choice questions for a line "ANSWER: [LETTER]". Which option is an answer that names its option in other words?
#
# Guess: "B. Dog" and "The answer is B. It is a Dog." are B, or have no answer; both say it plainly and no other letter stands alone.
# Seen: without the marker the last capital letter of the whole text counts, also the first one of a word: of "Dog" it is D, of "Cat" C. So a model that
# ignores the asked form is scored by how the options are spelled, and what is right may count as another option. Names of options in
# small letters ("B. dog") are B. The last capital that is no option ("It is a Wolf") means no answer, though B stands before it.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps evalscope==1.14.1 || exit 2
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.util
import sys
from importlib.metadata import distribution
from types import ModuleType, SimpleNamespace

package = distribution("evalscope")
print("evalscope", package.version)
types = ModuleType("evalscope.api.evaluator")  # the file needs three names of it, for annotations
types.Choices = types.Target = types.TaskState = SimpleNamespace
sys.modules["evalscope.api.evaluator"] = types
for name in ("evalscope", "evalscope.api"):
    sys.modules[name] = ModuleType(name)
spec = importlib.util.spec_from_file_location("multi_choices", package.locate_file("evalscope/utils/multi_choices.py"))
multi_choices = importlib.util.module_from_spec(spec)
spec.loader.exec_module(multi_choices)
seen = []
for said in ("ANSWER: B", "B. dog", "B. Dog", "The answer is B. It is a Cat.", "The answer is B. It is a Wolf."):
    state = SimpleNamespace(choices=["Cat", "Dog", "Horse", "Cow"], output=SimpleNamespace(completion=said))
    seen.append("".join(multi_choices.parse_answers(state)) or "none")
    print(f"{said!r}: guess B, seen {seen[-1]}")
sys.exit(seen != ["B", "B", "D", "C", "none"])
PYTHON
