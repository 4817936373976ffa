"""Each model of a release with an answer has a page that the release links to, also one that was interrupted or has no score."""

import json
import re
from contextlib import suppress
from pathlib import Path

from mm_eval.cli import main
from mm_eval.engine import ask


def links(page: Path) -> list[Path]:
    """The files that a release page links to."""
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    rows = json.loads(data[1])["rows"]
    found = [cell["link"].partition("#")[0] for row in rows for cell in row["cells"] if cell and "link" in cell]
    return [page.parent / link for link in found]


def test_an_interrupted_model_and_one_without_an_answer_have_pages(tmp_path, monkeypatch, capsys):
    """A, C and D answer; B has no server; C is interrupted, so that D does not run."""
    config = {
        "output_path": str(tmp_path / "out"),
        "tasks": ["mme", "pope"],
        "sample": True,
        "limit": 6,
        "models": [{"model": "dummy", "name": name, "seed": place} for place, name in enumerate("ACD")],
    }
    (tmp_path / "none.jsonl").write_text("")
    config["models"].insert(1, {"model": "replay", "name": "B", "model_args": {"path": str(tmp_path / "none.jsonl")}})
    (tmp_path / "release.yaml").write_text(json.dumps(config))
    asked = [0]
    receive = ask.Asker._receive

    def interrupt(asker, instance, answer):
        asked[0] += 1
        if asked[0] == 12 + 12 + 4:
            asker.stop.requested = True
        receive(asker, instance, answer)

    monkeypatch.setattr(ask.Asker, "_receive", interrupt)
    assert main(["run", "--config", str(tmp_path / "release.yaml")]) == 130
    out = tmp_path / "out"
    found = links(out / "release.html")
    assert {page.parent.name for page in found} == {"A", "B", "C"} and all(page.is_file() for page in found)
    assert "data:image" in (out / "C" / "report.html").read_text(), "with the pictures that were shown"
    assert "release.html#?to=D" in (out / "A" / "report.html").read_text(), "which says that D has no page"
    assert "was not run, because the release was interrupted" in (out / "release.html").read_text()


def test_a_release_has_a_page_before_its_first_model_ends(tmp_path, monkeypatch):
    """The pages of the models lead to it, also where the command is killed."""
    config = {"output_path": str(tmp_path / "out"), "tasks": ["mme"], "sample": True, "limit": 2}
    config["models"] = [{"model": "dummy", "name": "A"}]
    (tmp_path / "release.yaml").write_text(json.dumps(config))

    def killed(*args):
        raise SystemExit(137)

    monkeypatch.setattr("mm_eval.verbs.report.release.run_models._in_turn", killed)
    with suppress(SystemExit):
        main(["run", "--config", str(tmp_path / "release.yaml")])
    assert "it has not run yet" in (tmp_path / "out" / "release.html").read_text()
