"""A fake OpenAI-compatible endpoint on loopback: real HTTP, answers that depend on the prompt alone.

In a test::

    with ModelServer(latency=0.0) as server:
        client = ModelClient(server.url, None, "loopback")

Typed replies are made from the JSON schema in the request (or in the prompt, when the endpoint is set to refuse
`response_format`) by `REPLIES`, else of values picked by the prompt's hash.
"""

import base64
import hashlib
import json
import math
import random
import re
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Handler, Loopback

FAULTS = ("429", "500", "timeout", "malformed", "empty")
USELESS = ("malformed", "empty", "cut", "tools")
"""Faults that are replies: they are paid, and cannot be used."""
DIMS = 64


@dataclass
class Counts:
    """Calls that the server received; `most_in_flight` is the peak."""

    calls: int = 0
    embedded: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    faults: Counter[str] = field(default_factory=Counter)


class ModelServer(Loopback):
    """Serves in a thread while the `with` block lasts; settings may be changed while it runs.

    A reply is cut off at the request's `max_tokens`, as a model's is; "cut" and "tools" are faults too.
    `latency` and `hang` (how long a time-out fault sleeps) are seconds; `fail` is the share of calls that get one of
    `faults`; `script` lists the faults of the next calls, in order ("ok" for none). `refuse` lists what is answered
    with HTTP 400: "json_schema", "json_object", "temperature", "max_tokens", "base64"; `ignore_format` accepts a
    `response_format` and answers prose, accepts "base64" and sends numbers. `capacity` is how many calls may be in
    flight before the rest get a 429.
    `most_texts` and `longest` are how many texts an embeddings call may have, and characters one of them, else a 422 or
    413. `words` maps a part of a request ("temperature", "system", "" for any) to the status and the body, as it is,
    that answer it; the body of a redirect is where it leads.
    """

    def __init__(
        self,
        *,
        latency: float = 0.0,
        fail: float = 0.0,
        faults: tuple[str, ...] = FAULTS,
        retry_after: str = "0.05",
        hang: float = 2.0,
        key: str | None = None,
    ) -> None:
        super().__init__(_Handler)
        self.url += "/v1"
        self.latency, self.fail, self.faults, self.retry_after, self.hang = latency, fail, faults, retry_after, hang
        self.key, self.refuse, self.ignore_format, self.capacity = key, set[str](), False, math.inf
        self.most_texts, self.longest = 10**9, 10**9
        self.words: dict[str, tuple[int, str]] = {}
        self.script: deque[str] = deque()
        self.bodies: list[dict[str, Any]] = []
        self.counts = Counts()
        self.billed: list[tuple[str, int, int]] = []  # model, tokens of prompt and reply of each answer that was made
        self._random, self._lock = random.Random(0), threading.Lock()

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The requests for a chat, without the two small ones that measure how long a call takes."""
        asked = [body for body in self.bodies if "messages" in body]
        return [each for each in asked if not re.search("You write greetings|one to sixty", str(each["messages"]))]

    def fault(self) -> str:
        """Return the fault of the next call, "ok" for none."""
        with self._lock:
            if self.script:
                return self.script.popleft()
            fails = self._random.random() < self.fail
            return self._random.choice(self.faults) if fails else "ok"

    def enter(self, body: dict[str, Any]) -> bool:
        """Count a call; False when there are too many at once."""
        with self._lock:
            counts = self.counts
            self.bodies.append(body)
            counts.calls += 1
            counts.in_flight += 1
            counts.most_in_flight = max(counts.most_in_flight, counts.in_flight)
            return counts.in_flight <= self.capacity

    def leave(self, fault: str) -> None:
        with self._lock:
            self.counts.in_flight -= 1
            if fault != "ok":
                self.counts.faults[fault] += 1


class Memory:
    """A cache of a client's replies or an embedder's vectors, in memory."""

    def __init__(self) -> None:
        self.items: dict[str, bytes] = {}

    def get_many(self, keys: Iterable[str]) -> dict[str, bytes]:
        return {key: self.items[key] for key in keys if key in self.items}

    def put_many(self, items: Mapping[str, bytes]) -> None:
        self.items.update(items)


class _Handler(Handler):
    server: ModelServer

    def handle_request(self) -> None:
        if self.command == "GET":
            self.reply(200, {"object": "list", "data": [{"id": "loopback", "object": "model"}]})
            return
        body, owner = json.loads(self.rfile.read(int(self.headers["Content-Length"]))), self.server
        fault = owner.fault() if owner.enter(body) else "429"
        try:
            parts = {"", *body, *(message["role"] for message in body.get("messages", ()))}
            words = next((words for part, words in owner.words.items() if part in parts), None)
            if words is None:
                self.answer(body, fault)
            else:
                moved = {"Location": words[1]} if 300 <= words[0] < 400 else {}
                self.send(words[0], words[1].encode(), moved)
            self.close_connection = self.close_connection or fault == "hang up"
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            owner.leave(fault)

    def answer(self, body: dict[str, Any], fault: str) -> None:
        if self.server.key and self.headers["Authorization"] != f"Bearer {self.server.key}":
            return self.error(401, f"Incorrect API key provided: {self.headers['Authorization']}")
        if fault == "429":
            return self.error(429, "Rate limit reached", headers={"Retry-After": self.server.retry_after})
        if fault.isdigit():
            return self.error(int(fault), f"The server says {fault} to {self.headers['Authorization']}")
        if fault == "timeout":
            time.sleep(self.server.hang)
            self.close_connection = True
            return None
        time.sleep(self.server.latency)
        if self.path.endswith("/embeddings"):
            return self.embed(body)
        features = {body.get("response_format", {}).get("type", ""), *body}
        if refused := min(features & self.server.refuse, default=""):
            code = "unsupported_parameter" if refused in body else "invalid_request"
            return self.error(400, f"'{refused}' is not supported", param=refused, code=code)
        text = "" if fault == "empty" else _prose(body) if self.server.ignore_format else complete(body)
        if fault == "malformed":
            text = text[: len(text) // 2].replace('"', "")
        response = _completion(body, text)
        _bound(body, response, 0 if fault == "cut" else None)
        if fault == "tools":
            call = {"id": "1", "type": "function", "function": {"name": "answer", "arguments": "{}"}}
            response["choices"][0]["message"] |= {"content": None, "tool_calls": [call]}
        return self.reply(200, response)

    def embed(self, body: dict[str, Any]) -> None:
        texts, owner = body["input"], self.server
        if len(texts) > owner.most_texts:
            return self.error(422, f"batch size {len(texts)} > maximum allowed batch size {owner.most_texts}")
        if (most := max(map(len, texts))) > owner.longest:
            return self.error(413, f"inputs must have less than {owner.longest} characters. Given: {most}")
        encoding = body.get("encoding_format", "float")
        if encoding in owner.refuse:
            return self.error(400, f"'{encoding}' is no encoding_format", param="encoding_format")
        form = packed if encoding == "base64" and not owner.ignore_format else list
        rows = [{"object": "embedding", "index": i, "embedding": form(vector(t))} for i, t in enumerate(texts)]
        self.server.counts.embedded += len(rows)
        tokens = sum(len(text) for text in body["input"]) // 4
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        # Out of order on purpose: each row's index is that of its text.
        return self.reply(200, {"object": "list", "model": body["model"], "data": rows[::-1], "usage": usage})

    def error(self, status: int, message: str, headers: dict[str, str] | None = None, **more: str) -> None:
        self.reply(status, {"error": {"message": message, "type": "error", **more}}, headers)

    def reply(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        if status == 200 and isinstance(usage := body.get("usage"), dict) and "prompt_tokens" in usage:
            self.server.billed.append(
                (body.get("model", ""), usage["prompt_tokens"], usage.get("completion_tokens", 0))
            )
        self.send(status, data, headers or {})


def _completion(body: dict[str, Any], text: str) -> dict[str, Any]:
    prompt = sum(len(m["content"]) for m in body["messages"]) // 4 + 1
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-" + _hash(text),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": len(text) // 4,
            "total_tokens": prompt + len(text) // 4,
        },
    }


def _bound(body: dict[str, Any], response: dict[str, Any], most: int | None) -> None:
    """Cut a reply off at `most` tokens, or what the request allows."""
    choices = response.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    limits = (most, body.get("max_tokens"), body.get("max_completion_tokens"))
    limit = next((limit for limit in limits if limit is not None), None)
    text = choice.get("message", {}).get("content") if isinstance(choice, dict) else None
    if limit is not None and isinstance(text, str) and len(text) > 4 * limit:
        choice["message"]["content"], choice["finish_reason"] = text[: 4 * limit], "length"
        if limit and "usage" in response:
            response["usage"]["completion_tokens"] = limit


def complete(body: dict[str, Any]) -> str:
    """Return the answer to a chat request: JSON when it has a schema, else prose."""
    users = [message["content"] for message in body["messages"] if message["role"] == "user"]
    prompt = "\n".join(users) if users else body["messages"][-1]["content"]  # a repeated request has its texts first
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if schema is None:
        _, marker, instruction = prompt.rpartition("JSON schema:\n")
        schema = json.loads(instruction) if marker else None
    if schema is None:
        return _prose(body)
    for fields, make in REPLIES:
        if fields <= set(schema.get("properties", {})):
            return json.dumps(make(prompt), ensure_ascii=False)
    return json.dumps(_value(schema, schema, prompt), ensure_ascii=False)


def _prose(body: dict[str, Any]) -> str:
    return f"Here is an answer to what was asked, number {_hash(body['messages'][-1]['content'])}."


def passages(prompt: str) -> list[str]:
    """Return the JSON strings on lines of their own in a prompt: how ragviz passes text of documents."""
    return [json.loads(line) for line in prompt.splitlines() if len(line) > 2 and line[0] == line[-1] == '"']


def _key_questions(prompt: str) -> dict[str, Any]:
    """Return a question for each of the first twelve sentences, about its last words."""
    sentences = [s.strip() for passage in passages(prompt) for s in re.findall(_SENTENCE, passage) if s.strip()]
    ends = [max(len(s) * 2 // 3 if _is_chinese(s) and " " not in s else 0, s.rfind(" ", 0, -1) + 1) for s in sentences]
    pairs = [(s[:at].strip() or "It", s[at:]) for s, at in zip(sentences, ends, strict=True)][:12]
    rows = [{"key": key, "question": _completion_of(start, start + key)} for start, key in pairs]
    return {"key_questions": rows}


def _is_chinese(text: str) -> bool:
    return len(re.findall("[\u4e00-\u9fff]", text)) > len(re.findall("[A-Za-z]+", text))


def _answers(prompt: str) -> dict[str, Any]:
    """Return an answer to each numbered question: other words of the sentence that shares most words with it."""
    text = " ".join(passages(prompt))
    questions = [(int(n), json.loads(line)) for n, line in re.findall(r'^(\d+)\. (".*")$', prompt, re.MULTILINE)]
    return {"answers": [{"number": number, **_read_off(text, question)} for number, question in questions]}


def _read_off(text: str, question: str) -> dict[str, Any]:
    words = _content_words("".join(re.findall(r"“(.*)”", question)) or question)
    sentences = [s.strip() for s in re.findall(_SENTENCE, text)]
    best = max(sentences, key=lambda s: len(words & _content_words(s)), default="")
    if not words & _content_words(best):
        return {"answerable": False, "answer": ""}
    if " " not in best:  # Chinese: without the longest shared beginning
        shared = max((n for n in range(len(best)) if best[:n] in question), default=0)
        return {"answerable": True, "answer": best[shared:]}
    rest = [word for word in best.split() if word.lower() not in question.lower()]
    return {"answerable": True, "answer": " ".join(rest[:6]) or best}


def _content_words(text: str) -> set[str]:
    """Return words of four and more letters, numbers, and pairs of ideographs."""
    chinese = re.findall(r"(?=([\u4e00-\u9fff]{2}))", text)
    return set(re.findall(r"[a-z]{4,}|\d+", text.lower())) | set(chinese)


def _answer(prompt: str) -> dict[str, Any]:
    """Cite the sentence that shares most words with the question, which is the last string; refuse when none does."""
    *texts, question = passages(prompt)
    words = _content_words(question)
    sentences = [(rank, s.strip()) for rank, text in enumerate(texts, start=1) for s in re.findall(_SENTENCE, text)]
    rank, best = max(sentences, key=lambda each: len(words & _content_words(each[1])), default=(0, ""))
    answerable = bool(words & _content_words(best))
    return {"answerable": answerable, "answer": f"{best} [{rank}]." if answerable else ""}


_SENTENCE = r"(?:[^.。!！?？\n]|\.(?=\d))+"


def _texts(prompt: str) -> dict[str, Any]:
    """Return the JSON object in a judge's prompt, on a line of its own."""
    return next(json.loads(line) for line in prompt.splitlines() if line[:1] == "{" and line[-1:] == "}")


def _shares(claim: str, sentences: dict[str, str]) -> int:
    """Return the number of the first sentence with all numbers and half of the words of a claim, 0 when none has."""
    words = _content_words(re.sub(r"\[\d+\]", "", claim))
    best = max(sentences, key=lambda n: len(words & _content_words(sentences[n])), default="0")
    matches = words & _content_words(sentences.get(best, ""))
    same_numbers = {word for word in words if word.isdigit()} <= matches
    return int(best) if words and same_numbers and 2 * len(matches) >= len(words) else 0


def _claims(prompt: str) -> dict[str, Any]:
    """Return a claim for every sentence of the text, 30 at most, as the schema asks."""
    data = _texts(prompt)
    claims = [{"text": text, "sentence": int(number)} for number, text in data["text"].items()][:30]
    questions = [f"{data['question']} ({n})" for n in range(3)]
    return {"claims": claims, "questions": questions, "noncommittal": False}


def _context(prompt: str) -> dict[str, Any]:
    """Say that a claim is supported by the passages with a sentence that has half of its words."""
    data = _texts(prompt)
    rows = [
        {
            "claim": int(number),
            "supported_by": [
                {"passage": int(p), "sentence": place}
                for p, sentences in data["passages"].items()
                if (place := _shares(claim, sentences))
            ],
            "supported_together": [],
            "contradicted_by": [],
        }
        for number, claim in data.get("claims", {}).items()
    ]
    useful = {source["passage"] for row in rows for source in row["supported_by"]}
    passages = [{"passage": int(p), "useful": int(p) in useful} for p in data["passages"]]
    return {"claims": rows, "passages": passages}


def _comparison(prompt: str) -> dict[str, Any]:
    """Say that claims are supported by the other text when it has half of their words; the rest follows from that."""
    data = _texts(prompt)
    rows = {}
    for mine, other in (("answer_claims", "reference"), ("reference_claims", "answer")):
        places = {number: _shares(claim, data[other]) for number, claim in data[mine].items()}
        rows[mine] = [
            {"claim": int(n), "verdict": "supported" if place else "absent", "sentence": place}
            for n, place in places.items()
        ][:30]
    if not any(rows.values()):
        rows_of_words = _by_words(*(" ".join(data[side].values()) for side in ("answer", "reference")))
        return {**rows, "reason": "Compared word by word.", **rows_of_words}
    supported = [[row["verdict"] == "supported" for row in rows[name]] or [False] for name in rows]
    concise, complete = (sum(row) / len(row) for row in supported)
    verdict = "equivalent" if complete == concise == 1 else "partial" if complete else "different"
    scores = {"equivalence": verdict, "completeness": complete, "conciseness": concise}
    return {**rows, "reason": "Compared word by word.", **scores}


def _by_words(answer: str, reference: str) -> dict[str, Any]:
    """Compare two texts without claims: all words of the reference are equivalent, a part of them alone partial."""
    given, due = (set(re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", t.lower())) - {"a", "the"} for t in (answer, reference))
    verdict = "equivalent" if due <= given else "partial" if given and given <= due else "different"
    return {"equivalence": verdict, "completeness": float(due <= given), "conciseness": float(given <= due)}


def _ranking(prompt: str) -> dict[str, Any]:
    """Rank passages by the number of words that they share with the question, which is the last string."""
    *texts, question = passages(prompt)
    words = _content_words(question)
    shared = [len(words & _content_words(text)) for text in texts]
    return {"ranking": sorted(range(1, len(texts) + 1), key=lambda number: -shared[number - 1])}


TRUTHS: dict[str, tuple[tuple[str, ...], str]] = {}
"""What the model knows of questions, by text: what has to stand in its passages, and the answer; of others it is read
off their words. A question that needs nothing is known without documents. Tests fill it."""
_FUNCTION_WORDS = set(re.findall("[a-z]+", "which what when where whose does that with from have this will many there"))


def _completion_of(before: str, sentence: str) -> str:
    return f"补全“{before} …”的是哪些词？" if _is_chinese(sentence) else f"Which words complete “{before} …”?"


def _facts_of(passage: str) -> list[tuple[str, str, str]]:
    """Return beginning, end and whole of the sentences of a passage that can be asked about, shuffled."""
    sentences = [s.strip() for s in re.findall(_SENTENCE, passage) if len(s.strip()) > 12]
    sentences = sorted(sentences, key=_hash)
    cuts = [max(s.rfind(" ", 0, -len(s) // 3), len(s) * 2 // 3 if " " not in s else 0) for s in sentences]
    return [(s[:at].strip(), s[at:].strip(), s) for s, at in zip(sentences, cuts, strict=True) if s[:at].strip()]


def _claimed(prompt: str) -> dict[str, Any]:
    """Return a claim of every passage, the end of one of its sentences, and a question for all of these ends."""
    lists = [json.loads(line) for line in prompt.splitlines() if line[:2] == '["' and line[-2:] == '"]']
    asked = " ".join(lists[0]) if lists else ""
    texts = passages(prompt)
    facts = [next((f for f in _facts_of(text) if f[0] not in asked), None) for text in texts]
    if None in facts:
        return {"claims": [], "question": "", "answer": ""}
    claims = [
        {"passage": number, "quote": whole, "statement": f"{whole}."}
        for number, (_, _, whole) in enumerate(facts, start=1)  # type: ignore[misc]
    ]
    question = " ".join(_completion_of(fact[0], fact[0]) for fact in facts if fact)
    answer = "; ".join(fact[1] for fact in facts if fact)
    return {"claims": claims, "question": question, "answer": answer}


def _follow_up(prompt: str) -> dict[str, Any]:
    """Return the question of `_claimed` as the earlier turn, and one for the words before the end as the last."""
    made = _claimed(prompt)
    if not made["question"]:
        return {**made, "earlier": []}
    earlier = {"question": made["question"], "answer": made["answer"]}
    start = made["claims"][-1]["quote"][: -len(made["answer"])].split() or made["claims"][-1]["quote"][:4].split()
    chinese = _is_chinese(made["question"])
    question = "那它的开头是什么？" if chinese else "And what are its first words?"
    return {**made, "earlier": [earlier], "question": question, "answer": " ".join(start[:6])}


def _swapped(prompt: str) -> dict[str, Any]:
    """Return the question of `_claimed` with its last words swapped for others that stand nowhere."""
    made = _claimed(prompt)
    true = made["question"]
    beginning = "".join(re.findall("“(.*?) …”", true))
    original = beginning[-2:] if _is_chinese(beginning) else beginning.split()[-1] if beginning else ""
    replacement = "醙龘" if _is_chinese(beginning) else f"Quell{_hash(prompt)[:4]}mark"
    swap = {"what": "entity", "original": original, "replacement": replacement}
    question = true.replace(f"{original} …”", f"{replacement} …”")
    return {**made, "question": question, "answer": "", "true_question": true, "swap": swap}


def _holds(text: str, question: str) -> tuple[bool, str]:
    """Return whether a text answers a question: by `TRUTHS`, by the sentences it quotes, else by most of its words."""
    if question in TRUTHS:
        needs, answer = TRUTHS[question]
        return all(need in text for need in needs), answer
    if quoted := re.findall("“(.*?) …”", question):
        sentences = [s.strip() for s in re.findall(_SENTENCE, text)]
        found = [next((s for s in sentences if s.startswith(start)), "") for start in quoted]
        ends = [whole[len(start) :].strip() for whole, start in zip(found, quoted, strict=True) if whole]
        return len(ends) == len(quoted), "; ".join(ends)
    words = _content_words(question) - _FUNCTION_WORDS
    present = [word for word in words if word[: max(4, len(word) - 2)] in text.lower()]
    sentences = [s.strip() for s in re.findall(_SENTENCE, text)]
    best = max(sentences, key=lambda s: len(words & _content_words(s)), default="")
    return 3 * len(present) >= 2 * len(words) > 0, best


def _whole(data: dict[str, Any]) -> str:
    return " ".join([*(turn[0] for turn in data.get("earlier", ())), data["question"]])


def _from_evidence(prompt: str) -> dict[str, Any]:
    """Answer from passages alone."""
    data = _texts(prompt)
    text = "\n".join(data["passages"].values())
    if data.get("earlier") and data["question"] not in TRUTHS:  # a follow-up of `_follow_up`: the first words
        answerable, _ = _holds(text, data["earlier"][-1][0])
        starts = re.findall("“(.*?) …”", data["earlier"][-1][0])
        answer = " ".join(" ".join(start.split()[:6]) for start in starts[-1:]) or _holds(text, _whole(data))[1]
    else:
        answerable, answer = _holds(text, data["question"])
    missing = "" if answerable else "what is asked for"
    return {"answerable": answerable, "answer": answer if answerable else "", "missing": missing}


def _without_passages(prompt: str) -> dict[str, Any]:
    """Know what `TRUTHS` says; understand what names something, or follows what does."""
    rows = []
    for number, data in _texts(prompt)["questions"].items():
        question = data["question"]
        known = question in TRUTHS and not TRUTHS[question][0]
        answer = TRUTHS[question][1] if known else ""
        understood = bool(data.get("earlier")) or not re.match(r"And\b|那", question)
        row = {"number": int(number), "understood": understood, "unclear": "" if understood else "it"}
        rows.append({**row, "known": bool(answer), "answer": answer})
    return {"rows": rows}


def _of_others(prompt: str) -> dict[str, Any]:
    """Say of each passage whether it answers the question, and whether a quoted sentence ends there in another way."""
    data = _texts(prompt)
    rows = []
    for number, text in data["passages"].items():
        answers, said = _holds(text, _whole(data))
        differs = answers and "“" in data["question"] and said != data["expected"]
        rows.append({"passage": int(number), "answers": answers, "differs": differs, "quote": said * answers})
    return {"rows": rows}


def _rows(prompt: str) -> dict[str, Any]:
    return _of_others(prompt) if "expected" in _texts(prompt) else _without_passages(prompt)


REPLIES: list[tuple[set[str], Callable[[str], dict[str, Any]]]] = [
    ({"claims", "question", "answer", "swap"}, _swapped),
    ({"claims", "question", "answer", "earlier"}, _follow_up),
    ({"claims", "question", "answer"}, _claimed),
    ({"answerable", "answer", "missing"}, _from_evidence),
    ({"rows"}, _rows),
    ({"answerable", "answer"}, _answer),
    ({"key_questions"}, _key_questions),
    ({"answers"}, _answers),
    ({"ranking"}, _ranking),
    ({"claims", "passages"}, _context),
    ({"answer_claims", "reference_claims"}, _comparison),
    ({"claims", "questions"}, _claims),
    ({"claims"}, lambda prompt: {"claims": _claims(prompt)["claims"]}),
]
"""Properties of a schema → the function that makes a reply with them from a prompt."""


def _value(schema: dict[str, Any], root: dict[str, Any], prompt: str) -> Any:
    """Return a value that fits `schema`, picked by the hash of the prompt."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    pick = int(_hash(prompt + json.dumps(schema, sort_keys=True)), 16)
    options = schema.get("enum") or schema.get("anyOf")
    if options:
        chosen = options[pick % len(options)]
        return _value(chosen, root, prompt) if isinstance(chosen, dict) else chosen
    kind = schema.get("type")
    if kind == "object":
        return {name: _value(part, root, prompt + name) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_value(schema["items"], root, f"{prompt}{i}") for i in range(1 + pick % 3)]
    words = re.findall(r"\w+", prompt) or ["nothing"]
    return {"integer": pick % 5, "number": pick % 101 / 100, "boolean": pick % 2 == 0, "null": None}.get(
        str(kind), " ".join(words[(pick + i) % len(words)] for i in range(5))
    )


def vector(text: str) -> list[float]:
    """Return a hashed bag of words and characters, so that similar texts are near; not of unit length, on purpose."""
    values = [0.0] * DIMS
    for word in re.findall(r"[a-z0-9]+|[^\x00-\x7f]", text.lower()) or ["∅"]:
        values[int(_hash(word), 16) % DIMS] += 1.0
    return values


def packed(values: list[float]) -> str:
    """Return a vector as the bytes of its float32, in base64."""
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
