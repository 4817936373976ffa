"""Subtitles as they are read on the screen: escapes, tags, empty lines, line ends."""

from pathlib import Path

import pytest

from mm_eval.data.video.subtitles import read_subtitles
from mm_eval.values.errors import DataError
from tests.sets import each_of

TIMES = "00:00:01,000 --> 00:00:02,500"
LATER = "00:00:05,000 --> 00:00:06,000"
HOUR = "1:00:03.000 --> 1:00:04.000"
VTT = "00:01.000 --> 00:02.500"


@each_of(
    ("text", "said"),
    [
        (
            f"WEBVTT\n\n{VTT}\n<v Fred>R&amp;D, 3 &lt; 4\n\n1:00:03.000 --> 1:00:04.000\ntwo&nbsp;words\n",
            ["R&D, 3 < 4", "two words"],
        ),
        (
            f"WEBVTT - x\n\nNOTE\nx\n\nSTYLE\n::x {{}}\n\nid\n{VTT} line:0\n<c.red>a</c> <00:02.000>b\n\nno cue\n",
            ["a b"],
        ),
        (f"WEBVTT\n\n{VTT}\n&lt;i&gt; is a tag &#8211; AT&T\n", ["<i> is a tag – AT&T"]),
        (f"1\n{TIMES}\nif a < b and c > d\n", ["if a < b and c > d"]),
        (f'1\n{TIMES}\n{{\\an8}}<i>one</i>\n<font color="red">two</font> R&amp;D\n', ["one two R&D"]),
        (f"1\n{TIMES}\nfirst half\n\nsecond half\n\n2\n{LATER}\nlast\n", ["first half second half", "last"]),
        (f"1\n{TIMES}\nIn\n1999\n\n2\n{LATER}\n42\n", ["In 1999", "42"]),
        (f"{TIMES}\nno\n1999\n\n{LATER}\nnumbers", ["no 1999", "numbers"]),
        (f"1\n{TIMES}\none\n2\n{LATER}\ntwo", ["one", "two"]),
        (f"1\n{TIMES}\n\n2\n{LATER}\n<i></i>\n", []),
    ],
)
@each_of("end", ["\n", "\r\n", "\r"])
def test_what_is_read(text: str, said: list[str], end: str, tmp_path: Path) -> None:
    path = tmp_path / "a.srt"
    path.write_bytes(b"\xef\xbb\xbf" * (end == "\r") + text.replace("\n", end).encode())
    assert [each.text for each in read_subtitles(str(path))] == said
    assert all((each.start, each.end) in ((1, 2.5), (5, 6), (3603, 3604)) for each in read_subtitles(str(path)))


def test_a_file_of_another_kind_is_one_sentence_and_an_empty_one_has_no_subtitles(tmp_path: Path) -> None:
    path = tmp_path / "a.ass"
    path.write_text("[Events]\nDialogue: 0,0:00:01.00,0:00:02.50,Default,,0,0,0,,Hello\n")
    with pytest.raises(DataError, match="'a.ass' can't be read: no line states times, as in 00:00:01,000 -->"):
        read_subtitles(str(path))
    path = tmp_path / "a.json"
    path.write_text('[{"from": 1, "to": 2, "content": "x"}]')
    with pytest.raises(DataError, match="has neither `timestamp` and `text` nor `start`, `end` and `line`"):
        read_subtitles(str(path))
    path = tmp_path / "a.srt"
    path.write_text("\n")
    assert read_subtitles(str(path)) == ()


def test_sixteen_bits_a_letter_are_read_where_the_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.srt"
    path.write_bytes(f"1\n{TIMES}\né\n".encode("utf-16"))
    assert [each.text for each in read_subtitles(str(path))] == ["é"]


def test_lines_of_json_with_a_word_each(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "Hello", "start_time": 0.5, "end_time": 0.8}\n\n{"text": "you", "start_time": 1, "end_time": 2}\n'
    )
    assert [(each.start, each.end, each.text) for each in read_subtitles(str(path))] == [
        (0.5, 0.8, "Hello"),
        (1, 2, "you"),
    ]
    path.write_text('{"text": "Hello", "from": 0.5}\n')
    with pytest.raises(DataError, match="nor `text`, `start_time` and `end_time`"):
        read_subtitles(str(path))
