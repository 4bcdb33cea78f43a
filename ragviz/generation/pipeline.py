"""Generating questions into a question set by a plan: resumable, with progress, yields and costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice
from typing import Any, TypedDict, Unpack, get_args

from ragviz.core import stopping
from ragviz.core.configuration import IndexInfo
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.question import GeneratorName, Question, QuestionStyle, QuestionType
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.stopping import Progress, silent
from ragviz.generation import makers, model_questions, plan_record, verification, verifying
from ragviz.generation import plan as planned_cells
from ragviz.generation.extractive_maker import ExtractiveMaker
from ragviz.generation.indexed_documents import STRUCTURAL, IndexedDocuments
from ragviz.generation.makers import Order
from ragviz.generation.making import Making
from ragviz.generation.model_maker import ModelMaker
from ragviz.generation.plan_record import PlanRecord
from ragviz.generation.source_search import SourceSearch
from ragviz.generation.verification import Candidate, Context
from ragviz.index import indexing
from ragviz.judging import forecast, planning
from ragviz.judging.work import Asker
from ragviz.models.chat import ModelClient
from ragviz.models.refusals import Breaker
from ragviz.models.requests import Spending
from ragviz.questions import sets
from ragviz.questions.question_types import STYLES, TYPES
from ragviz.targets import fitting
from ragviz.text import words
from ragviz.text.counts import counted
from ragviz.workspace import Workspace

GENERATORS: tuple[str, ...] = get_args(GeneratorName)
PASSAGES = 2
"""Passages of a bridge where nobody says how many."""
REASONS = 3
"""Reasons of rejected questions that are listed, the most frequent first."""
NAMED = 10
"""Documents without questions that are named; `ragviz questions plan --json` names all."""


class Wanted(TypedDict, total=False):
    """What a generation is asked for.

    `kinds` are counts by type (see `plan.kinds_of`; without any a mix of what there is), `styles` counts or shares.
    Without a model `kinds` say which types, and the most of each. `passages` is how many a bridge needs.
    """

    limit: int | None
    kinds: Mapping[QuestionType, int | None] | None
    styles: Mapping[QuestionStyle, float | None] | None
    generator: str
    passages: int
    seed: int


@dataclass(frozen=True, slots=True)
class Choices:
    """What a generation makes: `limit` questions, so many of each of `kinds` (without a model at most) and `styles`."""

    info: IndexInfo
    generator: str
    limit: int
    kinds: Mapping[QuestionType, int]
    styles: Mapping[QuestionStyle, int]
    seed: int = 0
    passages: int = PASSAGES
    client: ModelClient | None = None

    @property
    def maker(self) -> str:
        """What the questions name as their generator."""
        return self.client.model if self.client else self.generator

    @property
    def work(self) -> str:
        """A key of these choices."""
        parts = [self.info.id, self.maker, self.limit, self.kinds, self.styles, self.seed, self.passages]
        return digest(*map(str, parts))


@dataclass(frozen=True, slots=True)
class Generated:
    """Result of a generation: `total` questions in the set now, `proposed` and `rejected` ones of this generation.

    `usable` of the `limit` questions that are planned exist now, with those of earlier generations by the same
    generator and seed; `short` is how many are missing by type. `nothing` says why documents have none,
    by name: those planned for, or of which none can be made without a model; `barren` counts the latter. The
    verification of `unverified` of the usable ones failed.
    `calls` and `dollars` are what all generations into the set have paid, this one included; dollars count the calls
    whose model has a price.
    """

    questions: str
    total: int
    proposed: int
    rejected: int
    calls: int = 0
    dollars: float = 0.0
    usable: int = 0
    limit: int = 0
    short: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    unverified: int = 0
    nothing: Mapping[str, str] = field(default_factory=dict)
    barren: int = 0
    generator: str = ""


def unasked_words(nothing: Mapping[str, str], most: int = NAMED) -> list[str]:
    """Say which documents have no question, a line each, and why.

    >>> unasked_words({"a.md": "it is empty", "b.md": "it is empty"}, 1)
    ['No question is about a.md: it is empty.', 'No question is about 1 more document.']
    """
    lines = [f"No question is about {name}: {reason}." for name, reason in list(nothing.items())[:most]]
    if (more := len(nothing) - most) > 0:
        lines.append(f"No question is about {counted(more, 'more document')}.")
    return lines


def notes(result: Mapping[str, Any], most: int = NAMED) -> list[str]:
    """Say what is missing of a generation, why, and what is next; `result` holds `Generated`'s fields, as a job's does.

    >>> result = {"usable": 4, "limit": 9, "short": {"bridge": 5}, "reasons": {"asked already": 2}, "unverified": 1}
    >>> for line in notes(result):
    ...     print(line)
    4 usable of 9: missing are 5 bridge. Tries failed because: asked already (2). For more, add documents or ask for \
other types.
    1 question could not be verified: generating again tries it again.
    >>> print(*notes({"usable": 31, "limit": 50, "barren": 2, "generator": "extractive"}))
    31 usable of 50: of 2 documents no question could be made without a model, and of the others no more without \
repeating a template. Write some, import some, or connect a model.
    """
    usable, limit, lines = result.get("usable", 0), result.get("limit", 0), list[str]()
    if usable < limit and result.get("generator") == "extractive":
        barren = result.get("barren", 0)
        none = f"of {counted(barren, 'document')} no question could be made without a model, and " if barren else ""
        more = f"of the {'others' if barren else 'documents'} no more without repeating a template"
        lines.append(f"{usable:,} usable of {limit:,}: {none}{more}. Write some, import some, or connect a model.")
    elif usable < limit:
        missing = ", ".join(f"{count:,} {TYPES[name].title}" for name, count in result["short"].items())
        why = plan_record.reason_words(result["reasons"], REASONS)
        tries = f"Tries failed because: {why}. " if why else ""
        more = "For more, add documents or ask for other types."
        lines.append(f"{usable:,} usable of {limit:,}: missing are {missing}. {tries}{more}")
    lines += unasked_words(result.get("nothing", {}), most)
    if failed := result.get("unverified", 0):
        them = "them" if failed > 1 else "it"
        lines.append(f"{counted(failed, 'question')} could not be verified: generating again tries {them} again.")
    return lines


def generate_questions(
    workspace: Workspace,
    index: str,
    name: str,
    *,
    verify: bool = True,
    budget: float | None = None,
    author: str = "",
    progress: Progress = silent,
    **wanted: Unpack[Wanted],
) -> Generated:
    """Generate questions about the documents of an index into the set `name`, by a plan that is drawn first.

    Without a model fewer questions are made than asked for rather than many of one template (`choosing`).
    Questions that the same generator made with the same `seed` count, and none is made or paid twice: an interrupted
    generation resumes, and a greater `limit` adds questions. What a cell of the plan cannot yield is made elsewhere, as
    a question of the same type. Rejected questions are stored with their reason. A model's questions are verified by
    other calls unless `verify` is off; where those fail, the question stays, unverified, until the next generation.
    `budget` limits the dollars ever spent on this set. All questions of one generation make one version of the set.

    Raises:
        UsageError: the index is not built; there is no such generator, type or style, or the generator cannot make it;
            no language model is configured; numbers contradict each other; a budget is given for a model without a
            price.
        BudgetReached: the next call could exceed the budget; a larger budget resumes the generation.
        ModelError: the endpoint is down or refuses the request, or nearly all of the model's questions are rejected.

    """
    info = workspace.store.indexes.get(index)
    corpus = workspace.store.corpora.get(info.corpus_id)
    # A set that is there is looked up first: one that is deleted while documents are read is not created again.
    is_there = workspace.store.sets.find(name) is not None
    found = sets.question_set(workspace, corpus, name) if is_there else None
    documents, choices = _chosen(workspace, info, budget, progress, **wanted)
    extractive = None if choices.client else _extractive(documents, choices.seed, progress)
    record = _record(workspace, _existing(workspace, info, name), documents, choices, extractive)
    question_set = found or sets.question_set(workspace, corpus, name)
    spending = workspace.spending(question_set.id, budget)
    edit = Edit(author, f"generated questions ({choices.maker})", f"generate:{record.key}:{record.work}")
    if extractive:
        made = extractive.make(record, workspace.store.questions.all(question_set.id))
        fact = plan_record.fact_with(workspace.store, question_set.id, record)
        workspace.store.questions.put(question_set.id, made, edit=edit, facts={plan_record.FACT: fact})
    else:
        maker = _model_maker(workspace, question_set, documents, choices, spending, verify=verify)
        work = Making(workspace, question_set, record, maker, documents, edit, spending)
        made = work.made
        try:
            work.run(progress)
        finally:
            work.store(at_end=True)
    spending.settle()
    workspace.store.evidence.settle_all()  # the index may hold documents that were replaced
    return _result(workspace, question_set, record, made, documents, extractive, verify=verify)


def _result(
    workspace: Workspace,
    question_set: QuestionSet,
    record: PlanRecord,
    made: Sequence[Question],
    documents: IndexedDocuments,
    extractive: ExtractiveMaker | None,
    *,
    verify: bool,
) -> Generated:
    rejected = sum(question.status == "rejected" for question in made)
    short, reasons = plan_record.missing(record.rows)
    total, paid = workspace.store.sets.get(question_set.id).total, workspace.store.payments.of(question_set.id)
    questions = workspace.store.questions.all(question_set.id)
    names = {i: document.name for i, document in documents.by_id.items()}
    return Generated(
        question_set.name, total, len(made) - rejected, rejected, paid.calls, paid.dollars,
        record.usable, max(record.wanted, record.planned), dict(short), dict(sum(reasons.values(), Counter())),
        plan_record.unverified(record, {q.id: q for q in questions}).total() if verify and not extractive else 0,
        plan_record.nothing_of([record], names, questions),
        len(extractive.unable) if extractive else 0,
        "extractive" if extractive else "model",
    )  # fmt: skip


# What is asked for


def _extractive(documents: IndexedDocuments, seed: int, progress: Progress) -> ExtractiveMaker:
    """Return the maker that needs no model, with all documents read."""
    progress(0, None, "", "Loading language models")
    stopping.detached(lambda: words.load(documents.languages, phrases=True))
    return ExtractiveMaker(documents, seed, progress)


def _check(generator: str, passages: int) -> None:
    if generator not in GENERATORS:
        raise UsageError(f"There is no generator '{generator}'; there are {', '.join(GENERATORS)}.")
    fewest, most_passages = TYPES["bridge"].fewest, TYPES["bridge"].most
    if not fewest <= passages <= most_passages:
        raise UsageError(f"A bridge needs {fewest} to {most_passages} passages, not {passages}.")


def _chosen(
    workspace: Workspace,
    info: IndexInfo,
    budget: float | None,
    progress: Progress,
    *,
    limit: int | None = None,
    kinds: Mapping[QuestionType, int | None] | None = None,
    styles: Mapping[QuestionStyle, float | None] | None = None,
    generator: str = "extractive",
    passages: int = PASSAGES,
    seed: int = 0,
) -> tuple[IndexedDocuments, Choices]:
    """Read the documents of an index, and return the choices with their counts.

    Raises:
        UsageError: choices contradict each other or cannot be made.

    """
    _check(generator, passages)
    indexing.check_ready(info)
    client = workspace.model if generator == "model" else None
    if budget is not None and client is not None and not client.priced:
        raise UsageError(f"A budget needs the price of '{client.model}': enter it on the settings page.")
    kinds, able = dict(kinds or {}), makers.TYPES_OF[generator]
    for noun, asked, possible in (("kind", kinds, able), ("style", styles or {}, makers.STYLES_OF[generator])):
        for name in asked:
            if name in (TYPES if noun == "kind" else STYLES) and name not in possible:
                raise UsageError(
                    f"The generator '{generator}' makes no {noun} '{name}', only {', '.join(possible)}: "
                    "choose another, or a generator that can."
                )
    progress(0, None, "", "Reading documents")
    documents = IndexedDocuments(workspace, info)
    if client is None:
        planned_cells.kinds_of(limit, kinds, dict.fromkeys(able, 1.0))  # checks them
        counted_kinds = [count for count in kinds.values() if count is not None]
        total = limit or (sum(counted_kinds) if kinds and len(counted_kinds) == len(kinds) else planned_cells.LIMIT)
        most = {name: total if (count := kinds.get(name)) is None else count for name in (kinds or able)}
        put = planned_cells.styles_of(styles or {}, total)
        return documents, Choices(info, generator, total, most, put, seed, passages)
    mix = {name: share for name, share in planned_cells.MIX.items() if name in able and documents.may_offer(name)}
    counts = planned_cells.kinds_of(limit, kinds, mix)
    total = sum(counts.values())
    put = planned_cells.styles_of(styles or {}, total)
    return documents, Choices(info, generator, total, counts, put, seed, passages, client)


def _existing(workspace: Workspace, info: IndexInfo, name: str) -> QuestionSet | None:
    """Return the set of this name about the documents of an index; None where there is none yet."""
    named = workspace.store.sets.find(name)
    return named if named is not None and named.corpus_id == info.corpus_id else None


def _record(
    workspace: Workspace,
    question_set: QuestionSet | None,
    documents: IndexedDocuments,
    choices: Choices,
    extractive: ExtractiveMaker | None,
) -> PlanRecord:
    """Return the plan with what exists of it: that of an unfinished generation of these choices, else a new one."""
    records = plan_record.records_of(workspace.store, question_set.id) if question_set else []
    existing = workspace.store.questions.all(question_set.id) if question_set else []
    kept = {question.id for question in existing if question.status != "rejected"}
    key = digest(choices.maker, str(choices.seed))
    earlier = next((record for record in records if record.key == key), None)
    record = PlanRecord(
        key, choices.work, choices.info.name, choices.maker, choices.seed, wanted=choices.limit if extractive else 0
    )
    if not any(outline.characters for outline in documents.outlines):
        raise UsageError(f"Index '{choices.info.name}' holds no text to ask about: add documents, and update it.")
    if extractive is not None:
        own = earlier.places.keys() & kept if earlier else set()
        chosen = extractive.choose(choices.limit, choices.kinds, choices.styles, first=own, existing=existing)
        return plan_record.planned(record, chosen, earlier, kept)
    cells = planned_cells.plan(documents.outlines, choices.kinds, choices.styles, seed=choices.seed, known=STRUCTURAL)
    return plan_record.planned(record, cells, earlier, kept)


def _model_maker(
    workspace: Workspace, question_set: QuestionSet, documents: IndexedDocuments, choices: Choices, spending: Spending,
    *, verify: bool,
) -> ModelMaker:  # fmt: skip
    """Return what has a model write the questions within the budget, and verify them unless `verify` is off."""
    store, client = workspace.store, choices.client
    assert client is not None
    client.open()
    plan = planning.Plan(store.cache("bank"), answerer=client, spending=spending, patience=0)
    return ModelMaker(
        documents,
        choices.seed,
        choices.passages,
        client,
        Breaker(store.cache("breaker"), question_set.id).watching(Asker(plan), "questions"),
        contexts=verifying.contexts_of(workspace, choices.info, spending) if verify else None,
        verify_ask=verifying.asking(workspace, question_set, client, spending),
        verdicts=store.cache(verifying.VERDICTS),
        keys=workspace.settings.keys,
    )


# Before anything is made


SHARE_KEPT = 0.8
"""Share of a model's tries that an estimate counts as kept."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan of a generation, with what exists of it, and what making the rest takes."""

    record: PlanRecord
    forecast: forecast.Forecast

    @property
    def assumed(self) -> str:
        """From what the estimate counts second tries after rejected drafts; "" where no call is made."""
        one_in = f"{1 / (1 - SHARE_KEPT):.0f}"
        return f"One try in {one_in} is counted as rejected, and written again." if self.forecast.calls else ""


def foresee_questions(
    workspace: Workspace,
    index: str,
    name: str,
    *,
    verify: bool = True,
    **wanted: Unpack[Wanted],
) -> Preview:
    """Draw the plan that `generate_questions` would follow, and estimate what it would take.

    Creates no set, and calls a model only to measure its pace. Counts the calls that write and verify each missing
    question, and second tries, of which `SHARE_KEPT` are counted as kept. Passages that a question joins are stood in
    for by others, so that not every document has to be read.

    Raises:
        UsageError: as `generate_questions`.

    """
    documents, choices = _chosen(workspace, workspace.store.indexes.get(index), None, silent, **wanted)
    question_set, client, seed = _existing(workspace, choices.info, name), choices.client, choices.seed
    extractive = None if client else _extractive(documents, seed, silent)
    record = _record(workspace, question_set, documents, choices, extractive)
    missing = record.planned - record.usable
    if client is None:
        return Preview(record, forecast.Forecast(questions=missing))
    maker = ModelMaker(documents, seed, choices.passages, client, stand_ins=True)
    existing = workspace.store.questions.all(question_set.id) if question_set else []
    tasks = [maker.task(order) for order in _foreseen(record, maker, documents, existing)]
    requests = [model_questions.question_request(task, seed) for task in tasks]
    prompt = sum(fitting.estimate(message["content"]) for request in requests for message in request.messages)
    reply = sum(model_questions.reply_tokens(task) for task in tasks)
    checks = forecast.Forecast(0)
    if verify:
        written = [model_questions.placeholder(task, client.model) for task in tasks]
        checks = verification.foresee(written, partial(_contexts_expected, documents), client)
    tokens = prompt + checks.prompt_tokens, reply + checks.completion_tokens
    calls = len(requests) + checks.total
    return Preview(
        record,
        forecast.Forecast(
            questions=missing,
            calls={"question": len(requests), **checks.calls} if requests else {},
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            cost=client.price(*tokens),
            seconds=forecast.duration({client: (calls, tokens[1])} if calls else {}, client.concurrency, probe=True),
        ),
    )


def _foreseen(
    record: PlanRecord, maker: ModelMaker, documents: IndexedDocuments, existing: Sequence[Question]
) -> list[Order]:
    """Return the orders that the missing questions will take, by the share that is counted as kept."""
    search, orders = SourceSearch(record, maker, documents, existing), list[Order]()
    lacking = search.lacking()
    missing = sum(lacking.values())
    for number in islice(cycle(list(lacking)), math.ceil(missing / SHARE_KEPT) - missing):
        lacking[number] += 1
    for look in (search.in_cell, search.in_document, search.anywhere):
        while found := search.orders(look, lacking):
            orders += [order for _, order in found]
            for number, _ in found:
                lacking[number] -= 1
    return orders


def _contexts_expected(documents: IndexedDocuments, questions: Sequence[Question]) -> dict[str, Context]:
    """Return contexts as large as those of a verification, without a search."""
    any_chunks = [chunk for document_id in islice(documents.by_id, 20) for chunk in documents.chunks(document_id)]
    candidates = tuple(Candidate("", chunk.text) for chunk in any_chunks[: 2 * verifying.CANDIDATES])
    others = candidates[: 2 * verification.ELSEWHERE]
    return {
        question.id: Context(candidates=candidates)
        if question.unanswerable
        else replace(verifying.context_in(question, documents.by_id), candidates=others)
        for question in questions
    }
