"""`show --keys`: prompts beside each other, with the differing characters marked."""

from mm_eval.verbs.show.text import differing, shortened, side_by_side


def test_differing_characters_are_marked():
    assert differing("abXcd", "abcd") == [False, False, True, False, False]
    assert differing("same", "same") == [False] * 4
    lines = side_by_side({"a": "Is it red?\nShort.", "b": "Is it red? Answer:"}, 60).splitlines()
    assert lines[0].split() == ["a", "b"] and lines[2].startswith("Is it red?⏎") and "Is it red? Answer:" in lines[2]
    assert lines[3].strip().startswith("^") and lines[3].rstrip().endswith("^")


def test_long_lines_go_on_below_and_control_characters_stay_harmless():
    lines = side_by_side({"a": "x" * 50, "b": "x" * 50 + "\x1b[31m"}, 83).splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["x" * 40, "x" * 10] and "\x1b" not in "".join(lines)
    assert "\\x1b" in lines[3] and "^" in lines[4]


def test_runs_of_one_token_are_told_by_their_number():
    assert shortened("<s>" + "<image>" * 64 + "\nhi <a><a>") == "<s><image> x64 \nhi <a><a>"


def test_show_puts_a_models_prompts_side_by_side(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    done = cli("show", "mme", "--doc", "3", "--model", "tiny-llava", "--keys", "default,qwen_vl")
    assert done.code == 0, done.err
    assert "picture 0:" in done.out and "^" in done.out
    [head] = [line for line in done.out.splitlines() if line.startswith("default")]
    assert "qwen_vl, " in head and "tokens" in head and "of pictures" in head
    body = " ".join(done.out.split())
    assert "Answer:" in body and "single word or phrase" in body
    wrong = cli("show", "mme", "--model", "dummy", "--sample", "--keys", "default,qwen_v")
    assert wrong.code == 2 and "Did you mean 'qwen_vl'" in wrong.err


def test_show_collapses_a_run_of_image_tokens(cli):
    done = cli("show", "mme", "--model", "tiny-llava")
    assert (
        "USER: <image> x64 " in done.out and "<image><image>" not in done.out and "tokens: 101, of which 64" in done.out
    )
