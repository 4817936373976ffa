"""report.html in a browser: it draws without a complaint, finds what one looks for, and runs nothing that a model said."""

import json
import re
import shutil
import time

import pytest

from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import Spent
from mm_eval.run_page import write_report
from tests.folders import edited
from tests.recorded import answers_with, ran

from .conftest import ATTACK

pytestmark = pytest.mark.browser


def count(page):
    return page.execute_script("return document.getElementById('count').textContent")


def choose(page, field, value):
    page.execute_script(
        "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('change'))",
        field,
        value,
    )


def detail(page):
    return page.execute_script("return document.getElementById('detail').innerText")


def key(page, name, on="document.body"):
    page.execute_script(f"{on}.dispatchEvent(new KeyboardEvent('keydown', {{key: arguments[0], bubbles: true}}))", name)


def search(page, words):
    page.execute_async_script(
        "const [words, done] = arguments; const e = document.getElementById('f-text'); e.value = words;"
        "e.dispatchEvent(new Event('input')); setTimeout(done, 200)",
        words,
    )


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_draws_at_each_width_and_never_scrolls_sideways(opened, dummy_run, width, dark):
    page = opened(dummy_run / "report.html", width=width, dark=dark)
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    text = page.execute_script("return document.body.innerText")
    for words in (
        "mme_perception_score",
        "95% interval",
        "unparsed",
        "Bundled sample data, not MME",
        "Says yes to",
        "By category",
    ):
        assert words in text
    assert page.execute_script("return document.querySelectorAll('#overview .track .dot').length") >= 5
    colours = page.execute_script(
        "return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    brightness = [sum(int(part) for part in colour[4:-1].split(",")) for colour in colours]
    assert (brightness[0] < 150 < 500 < brightness[1]) if dark else (brightness[1] < 150 < 500 < brightness[0])


def test_pictures_are_in_the_file_and_shown(opened, dummy_run):
    page = opened(dummy_run / "report.html", "#mme/7")
    sizes = page.execute_async_script(
        "const done = arguments[0]; setTimeout(() => done([...document.querySelectorAll('#detail img, .row img')]"
        ".map((e) => [e.src.slice(0, 11), e.naturalWidth])), 300)"
    )
    assert len(sizes) > 5 and all(source == "data:image/" and width > 20 for source, width in sizes)


def test_filters_and_search_find_what_is_there(opened, worse):
    page = opened(worse / "report.html")
    assert count(page) == "420 of 420"
    choose(page, "f-result", "wrong")
    assert count(page) == "140 of 420"
    choose(page, "f-category", "existence")
    assert count(page) == "20 of 420" and "doc 10 " in detail(page)
    choose(page, "f-result", "")
    search(page, "purple cross")
    assert count(page).split()[0] not in ("0", "30") and "purple cross" in detail(page)
    assert page.execute_script("return document.querySelector('#detail mark').textContent") == "purple cross"
    search(page, "no doc says this")
    assert count(page) == "0 of 420" and "No sample matches" in detail(page)


def test_a_click_on_a_category_shows_its_samples(opened, dummy_run):
    page = opened(dummy_run / "report.html")
    bars = "[...document.querySelectorAll('.bars .choice')].filter((one) => !/^[0-9]/.test(one.textContent))"
    names = page.execute_script(f"return {bars}.map((one) => one.textContent)")
    at = {name: place for place, name in enumerate(names)}
    page.execute_script(
        f"{bars}[{at['Instance Identity']}].dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))"
    )
    assert count(page) == "24 of 672" and "(Instance Identity)" in detail(page)
    page.execute_script(f"{bars}[{at['Action Recognition']}].click()")
    assert count(page) == "12 of 672" and "(Action Recognition)" in detail(page)
    page.execute_script(f"{bars}[{at['existence']}].click()")
    assert count(page) == "30 of 672" and "(existence)" in detail(page), "MME's numbers by category, too"


def test_a_link_opens_its_sample_and_keys_move_on(opened, worse):
    page = opened(worse / "report.html", "#mme/149")
    assert "mme, doc 149" in detail(page) and "wrong" in detail(page)
    key(page, "j")
    assert "mme, doc 150" in detail(page) and page.current_url.endswith("#mme/150")
    key(page, "k")
    key(page, "k")
    assert "mme, doc 148" in detail(page)
    key(page, "/")
    assert page.execute_script("return document.activeElement.id") == "f-text"
    key(page, "j", "document.activeElement")
    assert "mme, doc 148" in detail(page), "letters typed into the search are no commands"
    key(page, "Escape", "document.activeElement")
    assert page.execute_script("return document.activeElement.id") == "list"


def test_no_answer_of_a_model_is_ever_run(opened, attacked):
    page = opened(attacked, "#mme/3")
    assert ATTACK.split(" \x1b")[0] in detail(page) and "<!--ROWS-->" in detail(page)
    search(page, "<img src=x")
    assert count(page) == "1 of 420"
    assert page.execute_script("return window.attacked") is None
    assert page.execute_script("return document.querySelectorAll('img[src=x]').length") == 0
    assert page.get_log("browser") == []


def test_another_run_stands_beside_each_sample_and_flips_are_a_filter(opened, perfect, worse):
    page = opened(write_report(RecordedRun.read(worse), RecordedRun.read(perfect)))
    choose(page, "f-result", "gained")
    assert count(page) == "10 of 420" and "right, but wrong in " in detail(page) and "Answer in" in detail(page)
    choose(page, "f-result", "lost")
    assert count(page) == "130 of 420"
    choose(page, "f-result", "flipped")
    assert count(page) == "140 of 420"
    write_report(RecordedRun.read(worse))


def ready(opened, path):
    return int(opened(path).execute_script("return document.documentElement.dataset.ready"))


@pytest.mark.full
def test_2000_docs_are_there_at_once_and_20000_are_usable(opened, large):
    """Under 300 ms for 2,000. Measured on a busy machine, median of five: 63 ms, and 244 ms for 20,000 docs."""
    assert min(ready(opened, large[2_000]) for _ in range(5)) < 300
    page = opened(large[20_000], "#?result=")
    assert count(page) == "20,000 of 20,000"
    assert page.execute_script("return document.querySelectorAll('.row').length") < 40, "only what is in view is drawn"
    took = page.execute_script(
        "const from = performance.now(); const e = document.getElementById('f-result'); e.value = 'wrong';"
        "e.dispatchEvent(new Event('change')); return performance.now() - from"
    )
    assert took < 600 and count(page) != "20,000 of 20,000"
    page.execute_script("document.getElementById('list').scrollTop = 300000")
    assert (
        page.execute_async_script("setTimeout(() => arguments[0](document.querySelectorAll('.row').length), 200)") > 5
    )


def test_the_findings_are_a_part_of_the_page_and_their_examples_open_samples(opened, odd):
    page = opened(odd / "report.html")
    page.find_element("id", "tab-problems").click()
    findings = page.execute_script("return document.getElementById('findings').innerText")
    assert "What went wrong" in findings and "empty: the answers to 12 of 40 documents are empty" in findings
    page.execute_script("document.querySelectorAll('details.finding').forEach((one) => { one.open = true; })")
    findings = page.execute_script("return document.getElementById('findings').innerText")
    for words in ("Likely: ", "mm-eval ", "doc 0", "right: "):
        assert words in findings
    page.execute_script("document.querySelector('#findings a[href=\"#mme/1\"]').click()")
    assert "mme, doc 1" in wait_for(page, "mme, doc 1")
    assert page.execute_script("return window.attacked") is None


def wait_for(page, words):
    """The detail of the chosen sample once it has these words; a click on a link changes the page a moment later."""
    for _ in range(3000):
        if words in detail(page):
            break
        time.sleep(0.02)
    return detail(page)


def test_the_page_opens_on_what_failed_unless_its_address_asks_for_something(opened, odd, perfect):
    page = opened(odd / "report.html", "#samples")
    assert count(page) == "12 of 40" and "unparsed" in page.find_element("id", "only").text
    page.find_element("css selector", "#only button").click()
    assert count(page) == "40 of 40" and page.execute_script("return document.getElementById('only').hidden")
    page = opened(odd / "report.html", "#?result=right")
    assert count(page) == "28 of 40" and page.execute_script("return document.getElementById('only').hidden")
    page = opened(odd / "report.html", "#mme/20")
    assert count(page) == "40 of 40" and "mme, doc 20" in detail(page)
    page = opened(perfect / "report.html")
    assert count(page) == "420 of 420" and not page.find_element("id", "findings").text


def test_a_letter_stands_beside_the_text_of_its_option(opened, dummy_run):
    page = opened(dummy_run / "report.html")
    shown = page.execute_script(
        """const row = (p, g, a, o) => ({ p, g, a: [a].flat(1), o, x: {}, r: {}, v: {} });
        const shots = "Which?\\nA. one\\nB. two\\nD. old\\nAnswer: B\\n\\nWhich?\\n(A) red  \\n(B) <b>blue</b>\\n(C) C";
        return [chosenOf(row(shots, "A", "B")), goldOf(row(shots, "A", "B")), chosenOf(row(shots, "A", "D")),
          chosenOf(row(shots, "A", "C")), chosenOf(row("Is it?", "A", "A")), chosenOf(row(shots, "A", "A red one")),
          chosenOf(row("Which?", 1, [[-3, false], [-1, true]], [" cat", " dog"])),
          goldOf(row("Which?", 0, [[-3, false], [-1, true]], [" cat", " dog"]))]"""
    )
    assert shown == ["B (<b>blue</b>)", "A (red)", "D", "C", "A", "A red one", "B (dog)", "A (cat)"]
    page = opened(dummy_run / "report.html", "#seedbench/0")
    assert re.search(r"gold\s+[A-D] \(\w+", detail(page))


def test_the_facts_say_when_and_what_it_took(opened, dummy_run):
    facts = opened(dummy_run / "report.html", "#asked").find_element("css selector", "#asked dl.facts").text
    assert re.search(r"date\s+20\d\d-\d\d-\d\d \d\d:\d\d UTC\s+wall time\s+[\d.]+ s", facts) and "parameters" in facts


@pytest.mark.parametrize("seconds, said", [(3.21, "3.2 s"), (61, "1 min 1 s"), (7200, "2 h"), (3659.9, "1 h 1 min")])
def test_the_wall_time_reads_as_one_says_it(opened, dummy_run, seconds, said):
    assert opened(dummy_run / "report.html").execute_script("return duration(arguments[0])", seconds) == said


def test_a_phone_shows_filters_whole_that_have_long_names(opened, odd):
    page = opened(odd / "report.html", width=360)
    script = (
        "const o = document.createElement('option'); o.textContent = 'a very long category name '.repeat(5);"
        "document.getElementById('f-category').append(o);"
        "return [document.documentElement.scrollWidth, innerWidth]"
    )
    assert page.execute_script(script) == [360, 360]


def test_the_run_of_another_version_has_a_page_whose_findings_lack_a_command(opened, odd, tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(odd, folder)
    with edited(folder / "run.json") as stored:
        stored["request"]["an_option_of_another_version"] = 1
    page = opened(write_report(RecordedRun.read(folder)), "#problems")
    page.execute_script("document.querySelectorAll('details.finding').forEach((one) => { one.open = true; })")
    findings = page.find_element("id", "findings").text
    assert "12 of 40 documents are empty" in findings and "doc 0" in findings and "Try" not in findings


def test_cells_of_charts_show_their_samples_and_stand_in_the_address(opened, worse):
    page = opened(worse / "report.html")
    cells = "[...document.querySelectorAll('#charts table.confusion button')]"
    found = page.execute_script(f"return {cells}.map((e) => e.textContent)")
    assert len(found) == 4 and sum(map(int, found)) == 420 and int(found[1]) + int(found[2]) == 140
    page.execute_script(f"{cells}[1].click()")
    assert count(page) == f"{found[1]} of 420" and "(wrong)" not in detail(page) and "wrong" in detail(page)
    address = page.current_url
    assert "cell=answer" in address
    assert count(opened(worse / "report.html", "#" + address.partition("#")[2])) == f"{found[1]} of 420"
    page.execute_script("document.querySelector('#only button').click()")
    assert count(page) == "420 of 420" and "cell" not in page.current_url
    assert count(opened(worse / "report.html", "#?cell=nonsense%2C1")) == "420 of 420"


def test_lengths_of_answers_show_their_samples(opened, base, mme_rows):
    said = dict.fromkeys(range(8), "Yes, and here is why: the picture shows it.")
    path = answers_with(base / "wordy.jsonl", mme_rows[:40], set(), said=said)
    folder = ran(base / "wordy", "--tasks", "mme", "--limit", "40", "--model", "replay", "--model_args", f"path={path}")
    page = opened(folder / "report.html")
    assert "Share of right answers by characters of the answer" in page.execute_script("return document.body.innerText")
    bars = "[...document.querySelectorAll('.bars .choice')].filter((e) => /^[0-9]/.test(e.textContent))"
    said = page.execute_script(f"return {bars}.map((e) => e.getAttribute('aria-label').split(': ')[1])")
    assert said[0].startswith("show its ") and len(said) >= 2
    for place in (0, 1):
        page.execute_script(f"{bars}[{place}].click()")
        assert count(page).split()[0] == said[place].split()[2] and "cell=length" in page.current_url


def test_who_answered_stands_above_the_table_and_another_model_is_a_warning(opened, perfect, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(perfect, copy)
    names = {"gpt-4o-2024-08-06 (fp_1)": 400, "gpt-4o-2024-08-06 (fp_2)": 20}
    banners = "return [...document.querySelectorAll('[role=alert]')].map((e) => e.innerText)"
    for answered_by, said, warned in (
        (names, "gpt-4o-2024-08-06 (420 replies, 2 versions)", False),
        ({**names, f"gpt-4o-mini {ATTACK}": 3}, "gpt-4o-mini", True),
        ({}, "", False),
    ):
        with edited(copy / "results.json") as results:
            results["run"]["answered_by"] = answered_by
        page = opened(write_report(RecordedRun.read(copy)))
        facts = page.execute_script(
            "return Object.fromEntries([...document.querySelectorAll('dl.facts dt')]"
            ".map((e) => [e.innerText, e.nextSibling.innerText]))"
        )
        assert said in facts.get("answered by", "") and bool(said) is ("answered by" in facts)
        assert any("2 models answered: " in each for each in page.execute_script(banners)) is warned
        assert page.execute_script("return window.attacked") is None


def test_a_run_says_how_it_was_asked_and_whose_picture_each_is(opened, base):
    """The command, the settings, the number of examples; pictures of examples are labelled, and the list shows the question's."""
    words = ["--tasks", "mme,seedbench", "--limit", "3", "--num_fewshot", "2", "--model", "dummy"]
    folder = ran(base / "two shots", *words, "--gen_kwargs", "temperature=0.7,do_sample=true,max_new_tokens=3")
    page = opened(folder / "report.html", "#mme/1")
    assert page.find_element("css selector", "h1").text.endswith("2-shot")
    labels = page.execute_script("return [...document.querySelectorAll('#detail figcaption')].map((e) => e.innerText)")
    assert labels == ["example 1", "example 2", "question"]
    pictures = page.execute_script("return [...document.querySelectorAll('#detail figure img')].map((e) => e.src)")
    listed = page.execute_script("return document.querySelector('.row.chosen img').src")
    assert listed == pictures[2] != pictures[0]
    facts = page.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('#asked dt')]"
        ".map((e) => [e.textContent, e.nextSibling.textContent]))"
    )
    assert facts["command"].startswith(
        "mm-eval --tasks mme,seedbench --model dummy --num_fewshot 2 --limit 3 --gen_kwargs"
    )
    assert facts["command"].endswith("--sample Copy") and "--output_path" not in facts["command"]
    assert facts["generation of mme"].startswith("max_new_tokens=3, temperature=0.7") and facts["examples"] == "2"
    assert facts["data of mme"] == "lmms-lab/MME, no revision stated, split test" and facts["batch size"] == "auto"


def test_tokens_and_times_stand_beside_each_sample_and_task(opened, perfect, tmp_path):
    folder = tmp_path / "counted"
    shutil.copytree(perfect, folder)
    lines = [json.loads(line) for line in (folder / "samples/mme.jsonl").read_text().splitlines()]
    run = RecordedRun.read(folder)
    object.__setattr__(run, "spent", {"mme": {row["doc_id"]: Spent(1200, 7, 1e9 + row["doc_id"]) for row in lines}})
    page = opened(write_report(run), "#mme/5")
    assert re.search(
        r"tokens\s+1,200 in the prompt, 7 in the answer\s+answered\s+2001-09-09 01:46:45 UTC", detail(page)
    )
    asked = page.execute_script("return document.querySelector('#asked dl').textContent")
    assert "spent on mme504,000 tokens in prompts, 2,940 in answers, 419.0 s from the first answer to the last" in asked


def test_open_answers_have_their_most_frequent_wrong_ones_and_no_matrix(opened, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["red", "blue", "green", "pink", "grey", "white"]
    said = ["black", "black", "black", "red", "red", "white"]
    rows = [{"question": f"{word}?", "answer": word} for word in words]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers = [{"task": "open", "doc_id": place, "resps": [each]} for place, each in enumerate(said)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    (tmp_path / "open.yaml").write_text(
        "task: open\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        "doc_to_text: question\ndoc_to_target: answer\nmetric_list: [{metric: exact_match}]\n"
    )
    model = ("--model", "replay", "--model_args", "path=answers.jsonl")
    done = cli("--tasks", "open", "--include_path", tmp_path, *model, "--output_path", tmp_path / "run")
    assert done.code == 0, done.err
    page = opened(tmp_path / "run/report.html")
    assert "Answers against gold" not in page.page_source.split("</style>")[-1].split("<script")[0]
    rows_of = (
        "[...document.querySelectorAll('#charts table.confusion tr')].map((e) => e.innerText.split(/\\s+/).join(' '))"
    )
    assert page.execute_script(f"return {rows_of}") == [
        "answer documents",
        "black 3",
        "red 2",
    ]
    page.execute_script("document.querySelector('#charts table.confusion button').click()")
    assert count(page) == "3 of 6" and "cell=wrong" in page.current_url


def test_a_card_that_says_nothing_is_not_drawn(opened, base, mme_rows):
    """Equal bars, and a matrix of right answers only: the table says as much. The legend explains what is in the table."""
    path = answers_with(base / "right.jsonl", mme_rows[:60], set())
    words = ("--tasks", "mme", "--limit", "60", "--model", "replay", "--model_args", f"path={path}")
    page = opened(ran(base / "right", *words) / "report.html")
    assert page.find_elements("css selector", "#charts .card") == []
    said = page.find_element("id", "overview").text
    assert "Hover for all digits" in said and "Unparsed answers" not in said and "cut prompt" not in said
