"""Banks of RAGQuestEval: imported, cached, and read from the cache."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragviz.core.call import Call
from ragviz.core.digests import digest
from ragviz.core.errors import InputError
from ragviz.core.question import Question
from ragviz.core.reply_cache import Cache
from ragviz.core.verdict import Bank, BankItem
from ragviz.judging import extractive_questeval, quest_prompts
from ragviz.text import language as languages
from ragviz.text.untrusted import parsed, storable


@dataclass(frozen=True, slots=True)
class ImportedBanks:
    """Banks by their id, and a sentence for each item that was skipped."""

    banks: Mapping[str, Bank]
    problems: tuple[str, ...]


SHAPE = '{"id": {"key_info": ["…"], "question": ["…"], "answers": ["…"]}}'
"""The public format of banks."""


def read_banks(data: bytes) -> ImportedBanks:
    """Read banks in CRUD-RAG's public format, a JSON object in UTF-8: `SHAPE`; "maker" is "import".

    无法推断, "unanswerable" and null are None. Key information goes with a question only where there is as much of it
    as there are questions, else "". Items whose lists differ in length are skipped and reported, never shifted.

    Raises:
        InputError: the data as a whole is no such object.

    """
    next_step = f"Give one JSON object in UTF-8: {SHAPE}"
    try:
        items = parsed(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"The banks are not text in UTF-8. {next_step}") from None
    except ValueError as error:
        raise InputError(f"The banks are not JSON that can be read: {error}. {next_step}") from None
    if not isinstance(items, dict):
        raise InputError(f"The banks are a JSON {type(items).__name__}, not an object. {next_step}")
    banks: dict[str, Bank] = {}
    problems = []
    for name, item in items.items():
        problem = _problem(item)
        if problem:
            problems.append(f"Item '{storable(name)}' is skipped: {problem}.")
        else:
            banks[storable(name)] = _imported(item)
    return ImportedBanks(banks, tuple(problems))


def _problem(item: Any) -> str:
    """Return why an item is no bank; "" when it is one."""
    if not isinstance(item, dict):
        return "it is no object with the lists question and answers"
    for name, kind in (("question", str), ("answers", str | None), ("key_info", str)):
        texts = item.get(name, [] if name == "key_info" else None)
        if not isinstance(texts, list) or not all(isinstance(text, kind) for text in texts):
            return f"its {name} is no list of texts"
    questions, answers = item["question"], item["answers"]
    if len(questions) != len(answers):
        return f"it has {_count(questions, 'question')} but {_count(answers, 'answer')}, and needs one for each"
    if not questions:
        return "it has no questions"
    pairs = enumerate(zip(questions, answers, strict=True), start=1)
    empty = [number for number, pair in pairs if any(text is not None and not text.strip() for text in pair)]
    return f"question {empty[0]} or its answer is empty; where there is none, say “unanswerable”" if empty else ""


def _count(items: Sequence[Any], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


def _imported(item: Mapping[str, Any]) -> Bank:
    questions, answers, keys = item["question"], item["answers"], item.get("key_info", [])
    if len(keys) != len(questions):
        keys = [""] * len(questions)
    answers = [None if answer is None or quest_prompts.says_unanswerable(answer) else answer for answer in answers]
    items = tuple(
        BankItem(storable(key), storable(question), storable(answer))
        for key, question, answer in zip(keys, questions, answers, strict=True)
    )
    texts = "\n".join(f"{item.question} {item.answer or ''}" for item in items)
    return Bank(items, languages.of_short(texts, "en"), "import")


def bank_key(maker: str, reference: str) -> str:
    """Return the cache key of the bank that `maker` made of a reference."""
    return digest("bank", maker, quest_prompts.VERSIONS["bank"], reference, length=32)


def imported_bank_key(question: Question) -> str:
    """Return the cache key of the bank imported for a question; ids alone can be the same in two sets."""
    return digest("bank", "import", question.id, question.text, question.answer, length=32)


def bank_bytes(bank: Bank) -> bytes:
    """Return a bank as it is cached."""
    items = [[item.key, item.question, item.answer] for item in bank.items]
    calls = [[getattr(call, name) for name in Call.__slots__] for call in bank.calls]
    return json.dumps([items, bank.language, bank.maker, bank.version, calls], ensure_ascii=False).encode()


def read_bank(body: bytes) -> Bank:
    """Read what `bank_bytes` wrote."""
    items, lang, maker, version, calls = json.loads(body)
    return Bank(tuple(BankItem(*item) for item in items), lang, maker, version, tuple(Call(*call) for call in calls))


def extractive_banks(references: Sequence[str], banks: Cache) -> dict[str, Bank]:
    """Return the extractive bank of each reference that is not blank, from the cache or made and cached."""
    keys = {reference: bank_key("extractive", reference) for reference in references if reference.strip()}
    bodies = banks.get_many(list(keys.values()))
    cached = {reference: read_bank(bodies[key]) for reference, key in keys.items() if key in bodies}
    new = {r: extractive_questeval.extractive_bank(r, languages.detect(r)) for r in keys if r not in cached}
    if new:
        banks.put_many({keys[reference]: bank_bytes(bank) for reference, bank in new.items()})
    return cached | new
