"""RAGQuestEval by a model as two steps: the bank of a reference, and its questions answered from the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ragviz.judging import banks, quest_prompts
from ragviz.judging.planning import Item, Plan
from ragviz.judging.step import Asks, State, Step, ask_judge, require_complete
from ragviz.judging.texts import spoken
from ragviz.records import Bank, BankItem, Call

UNANSWERABLE = "The questions of the last reply could not be answered from the reference: ask others."


def _bank(state: State, plan: Plan, ask: Asks) -> Bank | None:
    reference = state.reference
    if not reference.strip() or state.item.question.kind == "unanswerable":
        return None
    assert plan.judge is not None
    tongue = spoken(reference, state.item.question.text)
    maker = f"{plan.judge.model} {plan.judge.base_url}"  # servers of one's own often call what they run alike
    maker += f" {plan.edition}" if plan.edition else ""
    imported, own = banks.imported_bank_key(state.item.question), banks.bank_key(maker, reference)
    kept = plan.banks.get_many([imported, own])
    if body := kept.get(imported) or kept.get(own):
        return banks.read_bank(body)
    # When the answers to its questions could not be used before, other questions are asked for.
    request, again = quest_prompts.bank_request(reference, tongue), min(1, state.item.seed)
    version = quest_prompts.VERSIONS["bank"]
    reply = ask_judge(state, plan, ask, ("bank", version), request, again, UNANSWERABLE)
    pairs = quest_prompts.bank_questions(reply)
    questions = dict(enumerate(question for _, question in pairs))
    answers = _answers(state, plan, ask, "bank", reference, questions, own=True)
    items = tuple(BankItem(key, question, answers[number]) for number, (key, question) in enumerate(pairs))
    bank = Bank(items, tongue, plan.judge.model, version, _calls_for(state, "bank"))
    plan.banks.put_many({own: banks.bank_bytes(bank)})
    return bank


def _calls_for(state: State, step: str) -> tuple[Call, ...]:
    return tuple(call for call in list(state.calls) if call.step == step)


def _questeval(state: State, plan: Plan, ask: Asks) -> tuple[str | None, ...] | None:
    bank: Bank | None = state.results.get("bank")
    if bank is None or not state.answer_text:
        return None
    questions = {number: item.question for number, item in enumerate(bank.items)}
    answers = _answers(state, plan, ask, "questeval", state.answer_text, questions)
    return tuple(answers[number] for number in questions)


def _answers(
    state: State, plan: Plan, ask: Asks, step: str, text: str, questions: Mapping[int, str], *, own: bool = False
) -> dict[int, str | None]:
    """Answers to the questions of a bank from one text; those that a reply misses are asked again."""
    answers: dict[int, str | None] = {}
    for number in range(2):
        missing = {number: question for number, question in questions.items() if number not in answers}
        if not missing:
            break
        tongue = spoken(text, " ".join(missing.values()))
        request = quest_prompts.answers_request(text, missing, tongue, own=own and len(missing) == len(questions))
        reply = ask_judge(state, plan, ask, (step, quest_prompts.VERSIONS[step]), request, number)
        answers |= quest_prompts.read_answers(reply, missing)[0]
    require_complete(([n for n in questions if n not in answers], []), "the judge left out {} of the questions")
    return answers


def _bank_placeholder(item: Item) -> quest_prompts.BankReply:
    """A question for every six words or so of the reference."""
    words = item.question.answer.split() or [item.question.answer]
    keys = [" ".join(words[start : start + 2]) for start in range(0, len(words), 6)][: quest_prompts.MOST]
    questions = [quest_prompts.KeyQuestion(key=key, question=f"{item.question.text} {key}") for key in keys]
    return quest_prompts.BankReply(key_questions=questions)


def _answers_placeholder(_: Item) -> quest_prompts.AnswersReply:
    """An answer to each question that a bank can have."""
    numbers = range(1, quest_prompts.MOST + 1)
    answers = [quest_prompts.ReadAnswer(number=number, answerable=True, answer="some words") for number in numbers]
    return quest_prompts.AnswersReply(answers=answers)


BANK = Step(
    "Questions about the reference",
    _bank,
    enter=lambda judged, state: replace(judged, bank=state.results["bank"]),
    placeholders={quest_prompts.BankReply: _bank_placeholder, quest_prompts.AnswersReply: _answers_placeholder},
    version=quest_prompts.VERSIONS["bank"],
    calls=2,
)
STEP = Step(
    "Those questions, put to the answer",
    _questeval,
    enter=lambda judged, state: replace(judged, bank_answers=state.results["questeval"]),
    placeholders={quest_prompts.AnswersReply: _answers_placeholder},
    needs=("answer", "bank"),
    version=quest_prompts.VERSIONS["questeval"],
)
