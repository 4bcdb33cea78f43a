"""Banks of RAGQuestEval: imported, kept and read again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragviz.errors import InputError
from ragviz.judging import extractive_questeval, quest_prompts
from ragviz.records import Bank, BankItem, Cache, Call, Question, digest
from ragviz.text import language as languages
from ragviz.text.untrusted import parsed, storable


@dataclass(frozen=True, slots=True)
class ImportedBanks:
    """Banks by their id, and a sentence for each item that was set aside."""

    banks: Mapping[str, Bank]
    problems: tuple[str, ...]


SHAPE = '{"id": {"key_info": ["…"], "question": ["…"], "answers": ["…"]}}'
"""The public format of banks."""


def read_banks(data: bytes) -> ImportedBanks:
    """Read banks in CRUD-RAG's public format, a JSON object in UTF-8: `SHAPE`; "maker" is "import".

    无法推断, "unanswerable" and null are None. Key information goes with a question only where there is as much of it
    as there are questions, else "". Items whose lists do not fit are set aside and told, never shifted.

    Raises:
        InputError: the data as a whole is no such object.

    """
    step = f"Give one JSON object in UTF-8: {SHAPE}"
    try:
        found = parsed(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"The banks are not text in UTF-8. {step}") from None
    except ValueError as error:
        raise InputError(f"The banks are not JSON that can be read: {error}. {step}") from None
    if not isinstance(found, dict):
        raise InputError(f"The banks are a JSON {type(found).__name__}, not an object. {step}")
    banks: dict[str, Bank] = {}
    problems = []
    for name, item in found.items():
        problem = _problem(item)
        if problem:
            problems.append(f"Item '{storable(name)}' is set aside: {problem}.")
        else:
            banks[storable(name)] = _imported(item)
    return ImportedBanks(banks, tuple(problems))


def _problem(item: Any) -> str:
    """What keeps an item from being a bank; "" when nothing does."""
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
    empty = [n for n, pair in enumerate(zip(questions, answers, strict=True), start=1) if "" in map(_stripped, pair)]
    return f"question {empty[0]} or its answer is empty; where there is none, say “unanswerable”" if empty else ""


def _stripped(text: str | None) -> str | None:
    return text and text.strip()


def _count(things: Sequence[Any], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _imported(item: Mapping[str, Any]) -> Bank:
    questions, answers, keys = item["question"], item["answers"], item.get("key_info", [])
    if len(keys) != len(questions):
        keys = [""] * len(questions)
    items = tuple(
        BankItem(storable(key), storable(question), None if _no_answer(answer) else storable(answer))
        for key, question, answer in zip(keys, questions, answers, strict=True)
    )
    said = "\n".join(f"{item.question} {item.answer or ''}" for item in items)
    return Bank(items, languages.of_short(said, "en"), "import")


def _no_answer(answer: str | None) -> bool:
    return answer is None or quest_prompts.says_unanswerable(answer)


# Banks


def bank_key(maker: str, reference: str) -> str:
    """Key of the bank that `maker` made of a reference."""
    return digest("bank", maker, quest_prompts.VERSIONS["bank"], reference, length=32)


def imported_bank_key(question: Question) -> str:
    """Key of the bank that was imported for a question; ids alone can be the same in two sets."""
    return digest("bank", "import", question.id, question.text, question.answer, length=32)


def bank_bytes(bank: Bank) -> bytes:
    """A bank as it is kept."""
    items = [[item.key, item.question, item.answer] for item in bank.items]
    calls = [[getattr(call, name) for name in Call.__slots__] for call in bank.calls]
    return json.dumps([items, bank.language, bank.maker, bank.version, calls], ensure_ascii=False).encode()


def read_bank(body: bytes) -> Bank:
    """Read what `bank_bytes` wrote."""
    items, tongue, maker, version, calls = json.loads(body)
    return Bank(tuple(BankItem(*item) for item in items), tongue, maker, version, tuple(Call(*call) for call in calls))


def extractive_banks(references: Sequence[str], banks: Cache) -> dict[str, Bank]:
    """The extractive bank of each reference, made once."""
    keys = {reference: bank_key("extractive", reference) for reference in references if reference.strip()}
    kept = banks.get_many(list(keys.values()))
    found = {reference: read_bank(kept[key]) for reference, key in keys.items() if key in kept}
    new = {r: extractive_questeval.extractive_bank(r, languages.detect(r)) for r in keys if r not in found}
    if new:
        banks.put_many({keys[reference]: bank_bytes(bank) for reference, bank in new.items()})
    return found | new
