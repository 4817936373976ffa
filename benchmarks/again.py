"""What the command of a finished run costs, against the run itself and against scoring it again.

    python benchmarks/again.py [--docs 20000] [--rounds 3]

Dummy model, documents with four choices, one thread, CPU seconds of the whole process. Prints the run, the same
command again, and the same command without finished.json (as a run that is scored again), with the ratio of each pair.
"""

from __future__ import annotations

import argparse

from data import four_choices
from measure import fresh, mm_eval, process, shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    root = four_choices(asked.docs)
    first, again, scored = [], [], []
    for number in range(asked.rounds):
        folder = fresh(f"again-{number}")
        command = mm_eval(
            "--tasks", root / "four_choices.yaml", "--model", "dummy", "--offline", "--output_path", folder
        )  # fmt: skip
        first.append(process(command)[0])
        again.append(process(command)[0])
        (folder / "finished.json").unlink()
        scored.append(process(command)[0])
    print(f"run            {shown(first)} CPU s")
    print(f"scored again   {shown(scored)} CPU s")
    print(f"the same again {shown(again)} CPU s")
    print(f"the same / scored again {shown([one / two for one, two in zip(again, scored, strict=True)], 3)}")
    print(f"the same / run          {shown([one / two for one, two in zip(again, first, strict=True)], 3)}")


if __name__ == "__main__":
    main()
