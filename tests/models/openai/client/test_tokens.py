"""What a server's /tokenize shows before the first question, and what follows from it."""

from typing import Any

import httpx
import pytest

from mm_eval.engine.model import account
from mm_eval.values.types import Answer, Instance
from tests.faults.server import Server, echo, reply
from tests.models.openai.test_openai import question
from tests.sets import each_of

BOS = 1


class Tokenizing(Server):
    """A server with /tokenize and /detokenize, one token a character, and a template in LLaVA's form.

    adds: its tokenizer adds BOS to plain text. writes: its template begins with BOS. gap: what the template puts before an answer
    that it is given.
    """

    def __init__(self, adds: bool = True, writes: bool = False, gap: str = " ", handle: Any = None) -> None:
        super().__init__(handle or (lambda body, nth: echo(body)))
        self.adds, self.writes, self.gap = adds, writes, gap
        self.looked: list[str] = []

    def tokenized(self, request: httpx.Request) -> httpx.Response:
        import json

        body = json.loads(request.content)
        self.looked.append(request.url.path)
        if request.url.path == "/detokenize":
            return httpx.Response(200, json={"prompt": "".join(chr(token) for token in body["tokens"])})
        if "prompt" in body:
            text = body["prompt"]
        else:
            user, *answer = (message["content"] for message in body["messages"])
            text = f"USER: {user} ASSISTANT:" + "".join(self.gap + each for each in answer)
        bos = self.adds and body["add_special_tokens"] or self.writes and "messages" in body
        return httpx.Response(200, json={"tokens": [BOS] * bos + [ord(character) for character in text]})


@each_of(
    ("adds", "writes", "sent"), [(True, False, True), (True, True, None), (False, False, None), (False, True, None)]
)
def test_bos_is_requested_where_the_tokenizer_adds_it_and_the_template_lacks_it(
    adds: bool, writes: bool, sent: Any
) -> None:
    server = Tokenizing(adds, writes)
    [(_, found)] = server.model().generate([question([], "q")])
    assert isinstance(found, Answer)
    [(_, body)] = server.requests
    assert body.get("add_special_tokens") is sent


def test_the_report_says_that_bos_is_requested() -> None:
    model = Tokenizing().model()
    assert "BOS" not in account(model, {})
    list(model.generate([question([], "q")]))
    assert "the server's chats lack BOS" in account(model, {})


class Listed(Tokenizing):
    """vLLM with a template that it takes to want one text, or a list of parts."""

    def __init__(self, between: str) -> None:
        super().__init__(adds=False, gap="")
        self.between = between

    def listed(self) -> httpx.Response:
        return httpx.Response(200, json={"data": [{"id": "m", "owned_by": "vllm"}]})

    def tokenized(self, request: httpx.Request) -> httpx.Response:
        import json

        body = json.loads(request.content)
        for message in body.get("messages", ()):
            if not isinstance(message["content"], str):
                message["content"] = self.between.join(part["text"] for part in message["content"])
        return super().tokenized(
            httpx.Request("POST", request.url, content=json.dumps({"add_special_tokens": False, **body}))
        )


@pytest.mark.parametrize(("between", "said"), [("\n", True), ("", False)])
def test_the_report_says_that_pictures_are_shown_before_all_text(between: str, said: bool) -> None:
    model = Listed(between).model()
    [(_, found)] = model.generate([question([], "q")])
    assert isinstance(found, Answer) and ("--chat-template-content-format openai" in account(model, {})) is said


def test_extra_body_overrides_it() -> None:
    server = Tokenizing()
    list(server.model(extra_body='{"add_special_tokens": false}').generate([question([], "q")]))
    assert server.requests[0][1]["add_special_tokens"] is False


def test_a_server_is_looked_at_once_for_all_questions() -> None:
    server = Tokenizing()
    model = server.model()
    list(model.generate([question([], f"q{n}") for n in range(40)]))
    list(model.generate([question([], f"r{n}") for n in range(40)]))
    assert server.looked.count("/tokenize") <= 5 and len(server.requests) == 80


def scored(option: str) -> Instance:
    context = [{"role": "user", "content": "Which?"}]
    return Instance("loglikelihood", "t", 0, {}, context, continuation=option)


def prompt_of(option: str) -> httpx.Response:
    """A reply with the log-probabilities of a prompt that ends in the option."""
    entries: list[Any] = [None]
    entries += [{"7": {"decoded_token": text, "logprob": -0.5, "rank": 1}} for text in (":", option)]
    return reply("", "length", prompt_logprobs=entries)


@pytest.mark.parametrize(("gap", "sent"), [(" ", "a long option"), ("", " a long option")])
def test_an_option_stands_behind_one_space(gap: str, sent: str) -> None:
    """LLaVA's template writes "ASSISTANT: " before a given answer, and "ASSISTANT:" before its own."""
    server = Tokenizing(gap=gap, handle=lambda body, nth: prompt_of(" a long option"))
    [(_, found)] = server.model().loglikelihood([scored(" a long option")])
    assert isinstance(found, Answer) and found.output == (-0.5, True)
    assert server.requests[0][1]["messages"][-1] == {"role": "assistant", "content": sent}


@pytest.mark.parametrize("option", [" A", " a long option"])
def test_no_option_is_scored_behind_the_opening_mark_of_a_reasoning(option: str) -> None:
    """The next token is the first of a reasoning: a letter's number there says nothing, and hf's prompt may have no mark."""

    class Thinking(Tokenizing):
        def tokenized(self, request: httpx.Request) -> httpx.Response:
            import json

            body = json.loads(request.content)
            if "messages" in body:
                asked.append(body.get("chat_template_kwargs"))
                text = "ASSISTANT:<think>\n" if (asked[-1] or {}).get("enable_thinking", True) else "ASSISTANT:"
                text += "".join(each["content"] for each in body["messages"][1:])
                return httpx.Response(200, json={"tokens": [ord(character) for character in text]})
            return super().tokenized(request)

    asked: list[Any] = []
    server = Thinking(adds=False, handle=lambda body, nth: prompt_of(option))
    [(_, found)] = server.model().loglikelihood([scored(option)])
    assert "begins the model's turn with '<think>'" in str(found) and "enable_thinking" in str(found)
    assert not server.requests and asked[0] is None
    [(_, found)] = server.model(chat_template_kwargs='{"enable_thinking": false}').loglikelihood([scored(option)])
    assert isinstance(found, Answer) and asked[-1] == {"enable_thinking": False}


def test_a_template_that_puts_more_before_an_option_is_refused_in_words() -> None:
    server = Tokenizing(gap="\n\n<answer>", handle=lambda body, nth: prompt_of(" a long option"))
    [(_, found)] = server.model().loglikelihood([scored(" a long option")])
    assert "no option can be scored" in str(found) and "--model vllm" in str(found)
    assert server.requests == []


@each_of("said", [{"choices": []}, {"tokens": "many"}, {"tokens": [1, "x"]}, [], {"tokens": None}])
def test_any_reply_without_a_list_of_tokens_means_that_there_is_none(said: Any) -> None:
    class Odd(Server):
        def tokenized(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, json=said)

    server = Odd(lambda body, nth: echo(body))
    [(_, found)] = server.model().generate([question([], "q")])
    assert isinstance(found, Answer) and "add_special_tokens" not in server.requests[0][1]


def test_a_server_that_was_still_loading_is_looked_at_later_and_the_first_question_asked_again() -> None:
    class Late(Tokenizing):
        def tokenized(self, request: httpx.Request) -> httpx.Response:
            self.looked.append("early")
            return super().tokenized(request) if len(self.looked) > 1 else httpx.Response(503, text="loading")

    server = Late()
    [(_, found)] = server.model().generate([question([], "q")])
    assert isinstance(found, Answer)
    assert [body.get("add_special_tokens") for _, body in server.requests] == [None, True]


def test_send_stop_false_leaves_the_stop_strings_to_us() -> None:
    asked = question([], "a. b")
    asked.generation_kwargs = {"until": ["."]}
    for stated, sent in (("true", ["."]), ("false", None)):
        server = Server(lambda body, nth: echo(body))
        [(_, found)] = server.model(send_stop=stated).generate([asked])
        assert found.output == "echo a" and server.requests[0][1].get("stop") == sent


def test_a_server_that_fails_on_stop_strings_is_asked_without_them_and_the_answer_is_cut_here() -> None:
    """`transformers serve` answers so, in these words, to image-text models."""
    asked = [question([], text) for text in ("a. b", "c. d", "e. f", "g. h")]
    for each in asked:
        each.generation_kwargs = {"until": ["."]}

    def fails(body: dict[str, Any], nth: int) -> httpx.Response:
        return httpx.Response(500, text="Internal Server Error") if "stop" in body else echo(body)

    server = Server(fails)
    model = server.model(max_retries=2, num_concurrent=1)
    found = [answer for _, answer in model.generate(asked)]
    assert sorted(str(getattr(each, "output", each)) for each in found) == ["echo a", "echo c", "echo e", "echo g"]
    sent = ["stop" in body for _, body in server.requests]
    assert sum(sent) <= 6 and sent[-2:] == [False, False], "found out once for all"
    assert model.facts.findings["dropped"] == ["stop"]


def test_a_server_that_only_fails_is_not_said_to_refuse_stop_strings() -> None:
    asked = question([], "a. b")
    asked.generation_kwargs = {"until": ["."]}
    broken = Server(lambda body, nth: httpx.Response(500, text="Internal Server Error"))
    model = broken.model(max_retries=2)
    [(_, found)] = model.generate([asked])
    assert "HTTP 500" in str(found) and len(broken.requests) == 4 and not model.facts.findings

    later = Server(
        lambda body, nth: echo(body) if "a. b" in str(body) else httpx.Response(500, text="Internal Server Error")
    )
    other = question([], "c. d")
    other.generation_kwargs = {"until": ["."]}
    found = [answer for _, answer in later.model(max_retries=2, num_concurrent=1).generate([asked, other])]
    assert isinstance(found[0], Answer) and all("stop" in body for _, body in later.requests), (
        "one was answered with them"
    )


def thinking(text: str | None, reasoning: str | None, finish: str = "stop", name: str = "reasoning_content") -> Any:
    message = {"role": "assistant", "content": text, name: reasoning}
    return httpx.Response(200, json={"choices": [{"message": message, "finish_reason": finish}]})


@each_of("name", ["reasoning_content", "reasoning"])
@each_of(
    ("text", "finish", "output", "reasoning"),
    [
        ("B", "stop", "B", "Is it A?"),
        ("", "stop", "", "Is it A?"),
        (None, "stop", "", "Is it A?"),
        (None, "length", "<think>Is it A?", None),
        ("B because", "length", "B because", "Is it A?"),
    ],
)
def test_reasoning_is_recorded_beside_the_answer_and_is_never_no_content(
    name: str, text: str | None, finish: str, output: str, reasoning: str | None
) -> None:
    server = Server(lambda body, nth: thinking(text, "Is it A?", finish, name))
    [(_, found)] = server.model().generate([question([], "q")])
    assert isinstance(found, Answer) and (found.output, found.reasoning, found.ended) == (output, reasoning, finish)
    assert len(server.requests) == 1


def test_a_stop_string_inside_the_reasoning_cuts_nothing() -> None:
    asked = question([], "q")
    asked.generation_kwargs = {"until": ["?"]}
    server = Server(lambda body, nth: thinking("B? yes", "Is it A?"))
    [(_, found)] = server.model().generate([asked])
    assert isinstance(found, Answer) and (found.output, found.reasoning) == ("B", "Is it A?")


def test_template_values_are_sent_and_decide_the_request_key() -> None:
    from mm_eval.engine.model import request_key

    server = Server(lambda body, nth: echo(body))
    plain, without = server.model(), server.model(chat_template_kwargs='{"enable_thinking": false}')
    list(without.generate([question([], "q")]))
    assert server.requests[0][1]["chat_template_kwargs"] == {"enable_thinking": False}
    assert request_key(plain, question([], "q")) != request_key(without, question([], "q"))


def test_a_fleet_whose_first_server_is_dead_is_looked_at_by_its_next_one() -> None:
    class HalfDead(Tokenizing):
        dead = 0

        async def __call__(self, request: httpx.Request) -> httpx.Response:
            if request.url.host == "dead":
                self.dead += 1
                raise httpx.ConnectError("refused")
            return await super().__call__(request)

    server = HalfDead()
    found = list(
        server.model(base_url="http://dead/v1|http://alive/v1").generate([question([], f"q{n}") for n in range(30)])
    )
    assert len(found) == 30 and all(isinstance(each, Answer) for _, each in found)
    assert all(body.get("add_special_tokens") is True for _, body in server.requests)


def test_a_server_that_answers_questions_but_never_a_look_is_looked_at_twice() -> None:
    """A path that a proxy swallows must not cost every question its time limit."""

    class Swallowing(Server):
        looks = 0

        async def __call__(self, request: httpx.Request) -> httpx.Response:
            if request.url.path == "/tokenize":
                self.looks += 1
                raise httpx.ReadTimeout("swallowed")
            return await super().__call__(request)

    server = Swallowing(lambda body, nth: echo(body))
    found = list(server.model().generate([question([], f"q{n}") for n in range(40)]))
    assert all(isinstance(each, Answer) for _, each in found) and server.looks == 2
