#!/usr/bin/env bash
# A frame with texts and categories that polars writes as an Arrow file, read by pyarrow. Can its rows be selected, and the categories be decoded?
#
# Guess: yes; both are implementations of one format, and pyarrow lists the values.
# Seen: polars' texts are views. pyarrow lists them and selects no row of them: `take` and `dictionary_decode` have no kernel for views. A cast to
# large_string mends the texts; categories need a cast of their dictionary. So `datasets` refuses such a file.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check polars==2.1.0 pyarrow==26.0.1 || exit 2
"$folder/venv/bin/python" - "$folder/rows.arrow" <<'PYTHON'
import sys
from importlib.metadata import version

import polars
import pyarrow as pa

print("polars", version("polars"), "| pyarrow", version("pyarrow"))
frame = polars.DataFrame({"text": ["007", "b"], "kind": polars.Series(["cat", "dog"], dtype=polars.Categorical)})
frame.write_ipc(sys.argv[1])
table = pa.ipc.open_file(pa.memory_map(sys.argv[1])).read_all()
print("types", [str(column.type) for column in table.columns], "listed", table.to_pylist())
text, kind = (column.combine_chunks() for column in table.columns)
kind = kind.chunk(0) if isinstance(kind, pa.ChunkedArray) else kind


def tried(what, act):
    try:
        print(f"{what}: guess done, seen {act().to_pylist()}")
        return "done"
    except pa.ArrowNotImplementedError as error:
        print(f"{what}: guess done, seen {error}")
        return "refused"


seen = [
    tried("rows of texts selected", lambda: text.take(pa.array([1]))),
    tried("categories decoded", lambda: kind.dictionary_decode()),
    tried("texts cast, then selected", lambda: text.cast(pa.large_string()).take(pa.array([1]))),
]
sys.exit(seen != ["refused", "refused", "done"])
PYTHON
