"""The OpenAI-compatible adapter: pictures as they are, log-likelihoods that are the same number, keys that go nowhere."""

import builtins
import io
import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from mm_eval.models.openai.adapter import OpenAI
from mm_eval.models.openai.client.logprobs import continuation_score
from PIL import Image

from mm_eval.data.media import encoded, open_picture, picture_digest
from mm_eval.engine.ask import Asker
from mm_eval.engine.journal import Journal, read_journal
from mm_eval.engine.model import ModelSettings, check_generation, request_key, shares
from mm_eval.engine.order import FIRST_WINDOW, CheapestOrder
from mm_eval.values.errors import ConfigError, MMEvalError, ModelError
from mm_eval.values.types import Answer, Instance
from tests.engine.asking import questions
from tests.faults.server import Server, echo, pixels, reply
from tests.processes import HANGS
from tests.sets import each_of


def drawn(kind: str = "JPEG", size: tuple[int, int] = (40, 30)) -> bytes:
    file = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(file, kind)
    return file.getvalue()


def question(pictures: list[Image.Image], *texts: str) -> Instance:
    image = [{"type": "image"}] if pictures else []
    parts = [part for text in texts for part in (*image, {"type": "text", "text": text})]
    rgb = [picture.convert("RGB") for picture in pictures]
    return Instance(
        "generate_until",
        "t",
        0,
        {},
        [{"role": "user", "content": parts}],
        images=lambda: rgb,
        image_digests=tuple(picture_digest(each) for each in rgb),
    )


@pytest.mark.parametrize(("kind", "mime"), [("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/webp")])
def test_a_picture_is_sent_as_the_file_that_it_was(kind: str, mime: str) -> None:
    file = drawn(kind)
    picture = open_picture(file).convert("RGB")
    assert encoded(picture, picture_digest(picture)) == (mime, file)


@pytest.mark.parametrize(
    "change",
    [
        lambda picture: picture.crop((0, 0, 10, 10)),
        lambda picture: picture.rotate(90, expand=True),
        lambda picture: Image.eval(picture, lambda value: 255 - value),
    ],
)
def test_a_picture_that_was_changed_is_sent_as_it_is_now(change: Callable) -> None:
    picture = change(open_picture(drawn()).convert("RGB"))
    mime, file = encoded(picture, picture_digest(picture))
    assert mime == "image/png" and picture_digest(Image.open(io.BytesIO(file)).convert("RGB")) == picture_digest(
        picture
    )


def test_each_picture_stands_in_its_place_among_the_texts() -> None:
    server = Server(lambda body, nth: reply("Yes"))
    one, two = open_picture(drawn("JPEG")), open_picture(drawn("PNG", (8, 9)))
    [(_, found)] = server.model().generate([question([one, two], "first", "second")])
    assert found.output == "Yes"
    [(_, body)] = server.requests
    parts = body["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["image_url", "text", "image_url", "text"]
    shown = [pixels(part["image_url"]["url"]) for part in parts if part["type"] == "image_url"]
    assert [(mime, picture.size) for mime, picture in shown] == [("image/jpeg", (40, 30)), ("image/png", (8, 9))]


def scored(context: object, *options: str) -> list[Instance]:
    return [
        Instance("loglikelihood", "t", 0, {}, context, continuation=option, choice=n)
        for n, option in enumerate(options)
    ]


CHAT = [{"role": "user", "content": [{"type": "text", "text": "Which letter?"}]}]
FIRST = {" A": -0.5, " B": -1.5, "A": -3.0}


def first_tokens(body: dict) -> httpx.Response:
    top = [{"token": token, "logprob": ll} for token, ll in FIRST.items()]
    choice = {"message": {"content": " A"}, "finish_reason": "length", "logprobs": {"content": [{"top_logprobs": top}]}}
    return httpx.Response(200, json={"choices": [choice]})


def prompt_scores(body: dict) -> httpx.Response:
    """vLLM's form: at each position the prompt's own token, and the likeliest one if that is another."""
    text = body["messages"][-1]["content"]
    words = [None, {"5": {"logprob": -9.0, "rank": 4, "decoded_token": "user"}, "6": {"logprob": -0.1, "rank": 1}}]
    for word in text.split():
        own = {"7": {"logprob": -0.25, "rank": 1, "decoded_token": f" {word}"}}
        other = {"8": {"logprob": -2.0, "rank": 3, "decoded_token": f" {word}"}, "9": {"logprob": -0.2, "rank": 1}}
        words.append(own if len(word) < 5 else other)
    choice = {"message": {"content": "x"}, "finish_reason": "length"}
    return httpx.Response(200, json={"choices": [choice], "prompt_logprobs": words})


def test_options_of_one_token_are_one_generated_token() -> None:
    server = Server(lambda body, nth: first_tokens(body))
    found = dict(server.model().loglikelihood(scored(CHAT, " A", " B")))
    assert [each.output for each in found.values()] == [(-0.5, True), (-1.5, False)]
    [(_, body)] = server.requests
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"], body["temperature"]) == (1, True, 20, 1.0)


def test_longer_continuations_and_rare_options_are_scored_as_the_end_of_the_prompt() -> None:
    server = Server(lambda body, nth: prompt_scores(body) if "prompt_logprobs" in body else first_tokens(body))
    found = [each.output for _, each in server.model().loglikelihood(scored(CHAT, " A", " C"))]
    assert found == [(-0.5, True), (-0.25, True)]
    [(_, long)] = server.model().loglikelihood(scored(CHAT, " red house"))
    assert long.output == (-2.25, False)
    body = server.requests[-1][1]
    assert body["messages"][-1] == {"role": "assistant", "content": " red house"}
    assert body["continue_final_message"] and not body["add_generation_prompt"] and body["prompt_logprobs"] == 1


def test_a_plain_text_is_scored_by_echo_from_its_boundary() -> None:
    def handle(body: dict, nth: int) -> httpx.Response:
        tokens = ["The", " sky", " is", " blue", " today", "."]
        offsets = [0, 3, 7, 10, 15, 21]
        lls = [None, -1.0, -0.5, -0.25, -0.75, -4.0]
        tops = [None, {" sea": -0.9}, {" is": -0.5}, {" blue": -0.25}, {" now": -0.5}, {".": -4.0}]
        logprobs = {"tokens": tokens, "token_logprobs": lls, "text_offset": offsets, "top_logprobs": tops}
        return httpx.Response(200, json={"choices": [{"text": "".join(tokens), "logprobs": logprobs}]})

    server = Server(handle)
    model = server.model(loglikelihood="prompt")
    assert [each.output for _, each in model.loglikelihood(scored("The sky is", " blue"))] == [(-0.25, True)]
    assert [each.output for _, each in model.loglikelihood(scored("The sky is", " blue today"))] == [(-1.0, False)]
    assert server.requests[0][1]["prompt"] == "The sky is blue" and server.requests[0][1]["echo"] is True


def sglang(body: dict, nth: int) -> httpx.Response:
    """SGLang's forms: text by `echo` with no offsets, words decoded alone without their spaces; chat with no prompt scores."""
    if "messages" in body:
        return first_tokens(body)
    words = body["prompt"].split(" ")
    tokens = [*words[:2], *(part for word in words[2:] for part in ([" ", *word] if word.isdigit() else [word])), " So"]
    lls = [None, *(-0.25 * (1 + place) for place in range(len(tokens) - 1))]
    rest = zip(tokens[1:], lls[1:], strict=True)
    tops = [None, *({token: ll} if len(token) < 5 else {"the": ll + 0.1} for token, ll in rest)]
    logprobs = {"tokens": tokens, "token_logprobs": lls, "text_offset": [-1] * len(tokens), "top_logprobs": tops}
    choice = {"text": f"{body['prompt']} So", "finish_reason": "length", "logprobs": logprobs}
    usage = {"prompt_tokens": len(tokens) - 1, "completion_tokens": 1}
    return httpx.Response(200, json={"choices": [choice], "usage": usage})


def test_sglang_scores_text_by_echo_though_it_says_no_offsets() -> None:
    model = Server(sglang).model(loglikelihood="prompt")
    found = [each.output for _, each in model.loglikelihood(scored("The sky is", " blue", " so bluish", " 42"))]
    assert found == [(-0.75, True), (-0.75 - 1.0, False), (-0.75 - 1.0 - 1.25, True)], (
        "what it wrote after them is left out"
    )


def test_sglang_gives_chat_options_of_one_token_a_number_and_refuses_longer_ones() -> None:
    server = Server(sglang)
    assert [each.output for _, each in server.model().loglikelihood(scored(CHAT, " A", " B"))] == [
        (-0.5, True),
        (-1.5, False),
    ]
    with pytest.raises(MMEvalError, match="no log-probabilities of the prompt.*SGLang for prompts of text only"):
        list(server.model().loglikelihood(scored(CHAT, " red house")))


def test_a_templates_newline_after_the_continuation_is_no_part_of_it() -> None:
    tokens = [("Q:", -9.0, True), (" red", -1.0, True), (" house", -0.5, False), ("\n", -3.0, False)]
    assert continuation_score(tokens, " red house") == (-1.5, False)
    with pytest.raises(ModelError):
        continuation_score(tokens, " ")


@pytest.mark.parametrize("context", [CHAT, "Which letter?"])
def test_a_server_without_prompt_scores_is_refused_with_what_to_do(context: object) -> None:
    server = Server(lambda body, nth: echo(body))
    with pytest.raises(MMEvalError, match="no log-probabilities of the prompt.*generate_until"):
        list(server.model().loglikelihood(scored(context, " red house", " blue house")))


def test_a_prompt_that_does_not_end_in_the_continuation_gives_no_number() -> None:
    def handle(body: dict, nth: int) -> httpx.Response:
        return httpx.Response(
            200,
            json={
                "choices": [{}],
                "prompt_logprobs": [None, {"1": {"logprob": -1, "rank": 1, "decoded_token": "</s>"}}],
            },
        )

    [(_, found)] = Server(handle).model(loglikelihood="prompt").loglikelihood(scored(CHAT, " red house"))
    assert isinstance(found, MMEvalError) and "does not end in the continuation" in str(found)


def test_the_same_question_at_another_server_or_model_has_another_key_unless_it_is_said_to_be_the_same() -> None:
    def key(**args: object) -> str:
        known = {"base_url": "http://a/v1", "model": "m", **args}
        return request_key(OpenAI(known, ModelSettings()), question([], "q"))

    assert len({key(), key(base_url="http://b/v1"), key(model="n"), key(extra_body='{"a": 1}')}) == 4
    assert key(server="vllm-0.20") == key(server="vllm-0.20", base_url="http://b:9/v1|http://c/v1")
    assert key(num_concurrent=3, timeout=9, deadline=9, max_retries=1, input_price=2, api_key_env="X") == key()


def test_sampled_answers_are_not_shared_between_slots() -> None:
    model = Server(lambda body, nth: echo(body)).model()
    sampled = question([], "q")
    assert shares(model, sampled)
    sampled.generation_kwargs = {"temperature": 0.5}
    assert not shares(model, sampled)


def test_a_fleet_takes_turns() -> None:
    hosts: list[str] = []

    class Fleet(Server):
        async def __call__(self, request: httpx.Request) -> httpx.Response:
            nonlocal hosts
            hosts += [request.url.host] * request.url.path.endswith("/completions")
            return await super().__call__(request)

    server = Fleet(lambda body, nth: echo(body))
    model = server.model(base_url="http://a/v1|http://b/v1", num_concurrent=4)
    asked = [question([], "q") for _ in range(40)]
    assert all(isinstance(each, Answer) for _, each in model.generate(asked))
    assert abs(hosts.count("a") - hosts.count("b")) <= 4 and len(hosts) == 40


SECRET = "canary-4711"


@each_of(
    ("args", "said"),
    [
        ({"api_key": SECRET}, "OPENAI_API_KEY"),
        ({"headers": SECRET}, "environment"),
        ({"headers": f"X-Key:{SECRET}"}, "environment"),
        ({"headers": f"X-Key:{SECRET.replace('-', '_')}"}, "environment"),
        ({"base_url": f"http://user:{SECRET}@host/v1"}, "holds a user"),
        ({"base_url": f"http://host/v1?key={SECRET}"}, "holds a user, a password or a query"),
        ({"base_url": f"ftp://{SECRET}/v1"}, "not an http"),
        ({"extra_body": f"{{{SECRET}"}, "not a JSON object"),
        ({"modl": "x"}, "Did you mean 'model'"),
        ({"model": ""}, "needs model="),
        ({"loglikelihood": "echo"}, "auto, prompt or token"),
    ],
)
def test_a_wrong_argument_is_told_without_its_value(args: dict, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAI({"base_url": "http://host/v1", "model": "m", **args}, ModelSettings())
    assert said in str(caught.value) and SECRET not in str(caught.value)


def test_wrong_numbers_and_beams_and_offline_are_told_before_the_first_request() -> None:
    for args, said in (({"timeout": "soon"}, "a number of seconds"), ({"num_concurrent": "0"}, "above 0")):
        with pytest.raises(ConfigError, match=said):
            OpenAI({"base_url": "http://host/v1", "model": "m", **args}, ModelSettings()).prepare()
    with pytest.raises(ConfigError, match="num_beams"):
        check_generation(OpenAI({"base_url": "http://host/v1", "model": "m"}, ModelSettings()), {"num_beams": 4})
    with pytest.raises(ConfigError, match="--offline"):
        OpenAI({"base_url": "http://host/v1", "model": "m"}, ModelSettings(offline=True))


def test_without_httpx_there_is_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    real = builtins.__import__

    def absent(name: str, *rest: object) -> object:
        if name == "httpx":
            raise ImportError("No module named 'httpx'")
        return real(name, *rest)

    for name in [name for name in sys.modules if name.startswith("mm_eval.models.openai.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ConfigError, match=r"pip install 'mm-eval\[openai\]'"):
        OpenAI({"base_url": "http://host/v1", "model": "m"}, ModelSettings()).prepare()


def test_scores_are_nats_and_sum_over_tokens() -> None:
    server = Server(lambda body, nth: prompt_scores(body))
    [(_, found)] = server.model(loglikelihood="prompt").loglikelihood(scored(CHAT, " a b c d"))
    assert found.output == (-1.0, True) and math.exp(found.output[0]) < 1


def test_tokens_are_added_up_over_launches_and_priced(tmp_path, cli, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(lambda body, nth: echo(body))
    made = server.model()
    monkeypatch.setattr(OpenAI, "new_loop", lambda self: made.new_loop())
    monkeypatch.setattr(OpenAI, "new_transport", lambda self: made.new_transport())
    prices = "base_url=http://server/v1,model=m,input_price=2,output_price=10"
    arguments = ("--tasks", "gsm8k", "--sample", "--limit", "4", "--model", "openai", "--model_args", prices)
    first = cli(*arguments)
    assert first.code == 0 and "28 prompt and 4 completion tokens, $0.0001 at the given prices" in first.out, first.err
    assert first.results["run"]["usage"] == {"completion_tokens": 4, "prompt_tokens": 28}
    again = cli(*arguments)
    assert again.results["run"]["usage"] == first.results["run"]["usage"] and len(server.requests) == 4


def test_an_answer_is_recorded_while_the_next_doc_is_prepared(tmp_path: Path) -> None:
    """The source of requests may take its time (a large picture, a download): nothing in flight waits for it."""
    recorded = threading.Event()

    def slow() -> Iterator[Instance]:
        for number, row in enumerate(questions(FIRST_WINDOW + 3)):
            assert number < FIRST_WINDOW + 2 or recorded.wait(HANGS), "no answer came while the source was at work"
            yield row

    server = Server(lambda body, nth: reply("Yes"))
    journal, ticks = Journal(tmp_path), list[int]()

    def tick(answered: int, failed: int) -> None:
        ticks.append(answered)
        if len(ticks) > FIRST_WINDOW:  # those of the first window, and one that was handed over alone
            recorded.set()

    try:
        asker = Asker(server.model(), journal, read_journal(tmp_path), tick=tick)
        outcome = asker.ask(CheapestOrder(slow()))
    finally:
        journal.close()
    assert (outcome.answered, outcome.failed) == (FIRST_WINDOW + 3, 0)
