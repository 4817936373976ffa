"""`mm-eval validate`: a gold answer scores full marks, whatever a task asks for."""

from pathlib import Path

import pytest

from mm_eval.cli import main

OWN = {
    "words": "output_type: loglikelihood\ndoc_to_text: q\ndoc_to_target: word\nmetric_list: [{metric: acc}]\n",
    "contexts": "output_type: multiple_choice\ndoc_to_text: label\ndoc_to_choice: '{{[q, word]}}'\ndoc_to_target: word\n"
    "metric_list: [{metric: acc}]\n",
    "rolling": "output_type: loglikelihood_rolling\ndoc_to_target: q\nmetric_list: [{metric: word_perplexity}]\n",
}


@pytest.mark.parametrize("name", OWN)
def test_a_gold_answer_scores_full_marks(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.jsonl").write_text('{"q": "a b?", "word": "c", "label": 1}\n{"q": "d?", "word": "e", "label": 0}\n')
    data = f"dataset_path: json\ndataset_kwargs: {{data_files: {{test: {tmp_path}/d.jsonl}}}}\ntest_split: test\n"
    (tmp_path / f"{name}.yaml").write_text(f"task: {name}\n{data}{OWN[name]}")
    assert main(["validate", name, "--include_path", str(tmp_path)]) == 0, capsys.readouterr().out
