"""The two steps of RAGQuestEval by a model: the bank of a reference, and its questions answered from the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ragviz.core.verdict import Bank, BankItem
from ragviz.judging import banks, quest_prompts
from ragviz.judging.planning import Item, Plan
from ragviz.judging.step import Asks, State, Step, ask_judge, require_complete
from ragviz.judging.texts import prompt_language

UNANSWERABLE = "The questions of the last reply could not be answered from the reference: ask others."


def _bank(state: State, plan: Plan, ask: Asks) -> Bank | None:
    reference = state.reference
    if not reference.strip() or state.item.question.kind == "unanswerable":
        return None
    assert plan.judge is not None
    lang = prompt_language(reference, state.item.question.query)
    imported, own = banks.imported_bank_key(state.item.question), banks.bank_key(plan.maker, reference)
    cached = plan.banks.get_many([imported, own])
    if body := cached.get(imported) or cached.get(own):
        return banks.read_bank(body)
    # When the answers to its questions were unusable before, other questions are requested.
    request, attempt = quest_prompts.bank_request(reference, lang), min(1, state.item.seed)
    version = quest_prompts.VERSIONS["bank"]
    reply = ask_judge(state, plan, ask, ("bank", version), request, attempt, UNANSWERABLE)
    pairs = quest_prompts.bank_questions(reply)
    questions = dict(enumerate(question for _, question in pairs))
    answers = _answers(state, plan, ask, "bank", reference, questions, own=True)
    items = tuple(BankItem(key, question, answers[number]) for number, (key, question) in enumerate(pairs))
    calls = tuple(call for call in list(state.calls) if call.step == "bank")
    bank = Bank(items, lang, plan.judge.model, version, calls)
    plan.banks.put_many({own: banks.bank_bytes(bank)})
    return bank


def _questeval(state: State, plan: Plan, ask: Asks) -> tuple[str | None, ...] | None:
    bank: Bank | None = state.results.get("bank") or (state.given.bank if state.given else None)
    if bank is None or not state.answer_text:
        return None
    questions = {number: item.question for number, item in enumerate(bank.items)}
    answers = _answers(state, plan, ask, "questeval", state.answer_text, questions)
    return tuple(answers[number] for number in questions)


def _answers(
    state: State, plan: Plan, ask: Asks, step: str, text: str, questions: Mapping[int, str], *, own: bool = False
) -> dict[int, str | None]:
    """Return the answers to the questions of a bank from one text; those that a reply misses are asked again."""
    answers: dict[int, str | None] = {}
    for attempt in range(2):
        missing = {number: question for number, question in questions.items() if number not in answers}
        if not missing:
            break
        lang = prompt_language(text, " ".join(missing.values()))
        request = quest_prompts.answers_request(text, missing, lang, own=own and len(missing) == len(questions))
        reply = ask_judge(state, plan, ask, (step, quest_prompts.VERSIONS[step]), request, attempt)
        answers |= quest_prompts.read_answers(reply, missing)[0]
    require_complete(([n for n in questions if n not in answers], []), "the judge left out {} of the questions")
    return answers


def _bank_placeholder(item: Item) -> quest_prompts.BankReply:
    """Return a question for about every six words of the reference."""
    words = item.question.answer.split() or [item.question.answer]
    keys = [" ".join(words[start : start + 2]) for start in range(0, len(words), 6)][: quest_prompts.MOST]
    questions = [quest_prompts.KeyQuestion(key=key, question=f"{item.question.query} {key}") for key in keys]
    return quest_prompts.BankReply(key_questions=questions)


def _answers_placeholder(_: Item) -> quest_prompts.AnswersReply:
    """Return an answer to each question that a bank can have."""
    numbers = range(1, quest_prompts.MOST + 1)
    answers = [quest_prompts.ReadAnswer(number=number, answerable=True, answer="some words") for number in numbers]
    return quest_prompts.AnswersReply(answers=answers)


BANK = Step(
    "Question bank of the reference",
    _bank,
    enter=lambda evaluated, state: replace(evaluated, bank=state.results["bank"]),
    placeholders={quest_prompts.BankReply: _bank_placeholder, quest_prompts.AnswersReply: _answers_placeholder},
    version=quest_prompts.VERSIONS["bank"],
    calls=2,
)
STEP = Step(
    "Bank questions, answered from the answer",
    _questeval,
    enter=lambda evaluated, state: replace(evaluated, bank_answers=state.results["questeval"]),
    placeholders={quest_prompts.AnswersReply: _answers_placeholder},
    needs=("answer", "bank"),
    version=quest_prompts.VERSIONS["questeval"],
)
