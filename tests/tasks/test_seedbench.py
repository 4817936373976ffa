"""SEED-Bench's letters by our rule and by lmms-eval's."""

import json


def test_lmms_evals_rule_for_letters_is_a_task_of_its_own(cli, tmp_path) -> None:
    answers = tmp_path / "answers.jsonl"
    names = ("seedbench", "seedbench_first_character")
    said = ["Absolutely not B", "(A)", "A", ""]
    rows = [{"task": name, "doc_id": n, "resps": [text]} for name in names for n, text in enumerate(said)]
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ran = cli(
        "--tasks", ",".join(names), "--model", "replay", "--model_args", f"path={answers}", "--sample", "--limit", 4
    )
    assert ran.code == 0, ran.err
    read = {name: [row["filtered_resps"]["none"][0] for row in ran.samples(name)] for name in names}
    assert read == {"seedbench": [None, "A", "A", None], "seedbench_first_character": ["A", "(", "A", None]}
    rows = ran.samples("seedbench_first_character")
    right = [row["target"] for row in rows]
    wanted = sum(letter == target for letter, target in zip(["A", "(", "A", None], right, strict=True)) / 4
    assert ran.results["results"]["seedbench_first_character"]["seed_all,none"] == wanted
    assert ran.results["results"]["seedbench_first_character"]["unparsed"] == 2
