"""Generating questions into a question set by a plan: resumable, with progress, yields and costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, TypedDict, Unpack, get_args

from ragviz.core import stopping
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.index_info import IndexInfo
from ragviz.core.progress import Progress, silent
from ragviz.core.question import GeneratorName, Question, QuestionStyle, QuestionType
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.generation import makers, model_questions, plan_record, rejection, verification, verifying
from ragviz.generation import plan as planned_cells
from ragviz.generation.asked_places import AskedPlaces
from ragviz.generation.extractive_maker import ExtractiveMaker
from ragviz.generation.indexed_documents import STRUCTURAL, IndexedDocuments
from ragviz.generation.makers import Order
from ragviz.generation.making import Making
from ragviz.generation.model_maker import ModelMaker
from ragviz.generation.plan import Cell
from ragviz.generation.plan_record import PlanRecord
from ragviz.generation.source_search import SourceSearch
from ragviz.generation.verification import Candidate, Context
from ragviz.index import indexing
from ragviz.judging import asker, forecast, planning
from ragviz.models.breaker import Breaker
from ragviz.models.chat import ModelClient
from ragviz.models.spending import Spending
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

    `kinds` are counts by type (see `plan.kinds_of`; without any a mix of what there is, in which another type stands in
    for one that the documents do not yield), `styles` counts or shares. Without a model `kinds` say which types, and
    the most of each. `passages` is how many a bridge needs. With `fill` only what has no questions is asked about; with
    `every_chunk` each chunk of the index is.
    """

    limit: int | None
    kinds: Mapping[QuestionType, int | None] | None
    styles: Mapping[QuestionStyle, float | None] | None
    generator: str
    passages: int
    seed: int
    every_chunk: bool
    fill: bool


@dataclass(frozen=True, slots=True)
class Choices:
    """What a generation makes: `limit` questions, how many of each of `kinds` (without a model at most) and `styles`.

    `any_type`: nobody asked for types.
    """

    info: IndexInfo
    generator: str
    limit: int
    kinds: Mapping[QuestionType, int]
    styles: Mapping[QuestionStyle, int]
    seed: int = 0
    passages: int = PASSAGES
    fill: bool = False
    every_chunk: bool = False
    any_type: bool = False
    client: ModelClient | None = None

    @property
    def maker(self) -> str:
        """What the questions name as their generator."""
        return self.client.model if self.client else self.generator

    @property
    def work(self) -> str:
        """A key of these choices."""
        parts = [self.info.id, self.maker, self.limit, self.kinds, self.styles, self.seed, self.passages, self.fill]
        return digest(*map(str, [*parts, self.every_chunk]))


@dataclass(frozen=True, slots=True)
class Generated:
    """Result of a generation: `total` questions in the set now, `proposed` and `rejected` ones of this generation.

    `usable` of the `limit` questions that are planned exist now, with those of earlier generations by the same
    generator and seed; `short` is how many are missing by type. `nothing` says of each document that a question was
    planned for and that has none, by name, why; `unplanned` more have none because the limit does not reach for all
    documents; `barren` counts those of which nothing can be made without a model. The verification of `unverified` of
    the usable ones failed.
    `calls` and `dollars` are what all generations into the set have paid, this one included; dollars count the calls
    whose model has a price. With `fill`, what is planned and usable is of this generation alone.
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
    unplanned: int = 0
    barren: int = 0
    fill: bool = False
    generator: str = ""


def unasked_words(nothing: Mapping[str, str], most: int = NAMED) -> list[str]:
    """Say which documents have no question though some were planned for them, a line each, and why.

    >>> unasked_words({"a.md": "it is empty", "b.md": "it is empty"}, 1)
    ['No question is about a.md: it is empty.', 'No question is about 1 more document for which some were planned.']
    """
    lines = [f"No question is about {name}: {reason}." for name, reason in list(nothing.items())[:most]]
    if (more := len(nothing) - most) > 0:
        lines.append(f"No question is about {counted(more, 'more document')} for which some were planned.")
    return lines


def notes(result: Mapping[str, Any], most: int = NAMED) -> list[str]:
    """Say what is missing of a generation, why, and what is next; `result` holds `Generated`'s fields, as a job's does.

    >>> result = {"usable": 4, "limit": 9, "short": {"bridge": 5}, "reasons": {"asked already": 2}, "unverified": 1}
    >>> for line in notes(result | {"unplanned": 2}):
    ...     print(line)
    4 usable of 9: missing are 5 bridge. Tries failed because: asked already (2). For more, add documents or ask for \
other kinds.
    No question is planned about 2 documents: the limit of 9 does not reach for all.
    1 question could not be verified: generating again tries it again.
    >>> print(*notes({"usable": 31, "limit": 50, "barren": 2, "generator": "extractive"}))
    31 usable of 50: 2 documents hold nothing that can be asked about alone, and the others no more that can be \
asked without repeating a template. Write some, import some, or connect a model.
    """
    usable, limit, lines = result.get("usable", 0), result.get("limit", 0), list[str]()
    if usable < limit and result.get("generator") == "extractive":
        barren = result.get("barren", 0)
        none = f"{counted(barren, 'document', 'holds')} nothing that can be asked about alone, and " if barren else ""
        rest = "the others" if barren else "the documents hold"
        lines.append(
            f"{usable:,} usable of {limit:,}: {none}{rest} no more that can be asked without repeating a template. "
            "Write some, import some, or connect a model."
        )
    elif usable < limit:
        missing = ", ".join(f"{count:,} {TYPES[name].title}" for name, count in result["short"].items())
        why = plan_record.reason_words(result["reasons"], REASONS)
        tries = f"Tries failed because: {why}. " if why else ""
        more = "For more, add documents or ask for other kinds."
        lines.append(f"{usable:,} usable of {limit:,}: missing are {missing}. {tries}{more}")
    lines += unasked_words(result.get("nothing", {}), most)
    if unplanned := result.get("unplanned", 0):
        planned = f"No question is planned about {counted(unplanned, 'document')}"
        lines.append(f"{planned}: the limit of {limit:,} does not reach for all.")
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
        contexts = verifying.contexts_of(workspace, info, spending) if verify else None
        existing = workspace.store.questions.all(question_set.id)
        made = extractive.make(record, existing, contexts, progress)
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
    short, reasons = Counter[str](), Counter[str]()
    for row in record.rows:
        if row.missing:
            short[row.cell.type] += row.missing
            reasons += row.reasons
    total, paid = workspace.store.sets.get(question_set.id).total, workspace.store.payments.of(question_set.id)
    questions = workspace.store.questions.all(question_set.id)
    names = {i: document.name for i, document in documents.by_id.items()}
    kept = (question for question in questions if question.status != "rejected")
    reached = {document_id for question in kept for document_id in plan_record.documents_of(question)}
    reached |= {row.cell.document_id for row in record.rows} | record.nothing.keys()
    return Generated(
        question_set.name, total, len(made) - rejected, rejected, *paid,
        record.usable, max(record.wanted, record.planned), dict(short), dict(reasons),
        plan_record.unverified(record, {question.id: question for question in questions}).total() if verify else 0,
        plan_record.nothing_of([record], names, questions),
        0 if record.fill else sum(o.document_id not in reached for o in documents.outlines if o.characters),
        len(extractive.unable) if extractive else 0,
        record.fill, "extractive" if extractive else "model",
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
    every_chunk: bool = False,
    fill: bool = False,
) -> tuple[IndexedDocuments, Choices]:
    """Read the documents of an index, and return the choices with their counts.

    Raises:
        UsageError: choices contradict each other or cannot be made.

    """
    _check(generator, passages)
    if every_chunk and fill:
        raise UsageError("Every chunk, or only what has no questions: ask for one of them.")
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
    if client is None and every_chunk:
        raise UsageError("Without a model not every chunk can be asked about: leave that out, or connect a model.")
    progress(0, None, "", "Reading documents")
    documents = IndexedDocuments(workspace, info)
    if client is None:
        planned_cells.kinds_of(limit, kinds, dict.fromkeys(able, 1.0))  # checks them
        counted_kinds = [count for count in kinds.values() if count is not None]
        total = limit or (sum(counted_kinds) if kinds and len(counted_kinds) == len(kinds) else planned_cells.LIMIT)
        most = {name: total if (count := kinds.get(name)) is None else count for name in (kinds or able)}
        put = planned_cells.styles_of(styles or {}, total)
        return documents, Choices(info, generator, total, most, put, seed, passages, fill, any_type=not kinds)
    mix = {name: share for name, share in planned_cells.MIX.items() if name in able and documents.may_offer(name)}
    if every_chunk and limit is None and (not kinds or None in kinds.values()):
        limit = max(1, info.chunks) + sum(count or 0 for name, count in kinds.items() if not TYPES[name].fewest)
        mix = {name: share for name, share in mix.items() if TYPES[name].fewest}
    counts = planned_cells.kinds_of(limit, kinds, mix)
    total = sum(counts.values())
    put = planned_cells.styles_of(styles or {}, total)
    return documents, Choices(
        info, generator, total, counts, put, seed, passages, fill, every_chunk, not kinds, client
    )  # fmt: skip


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
    fills = sum(record.fill for record in records)
    open_fill = next((r for r in records if r.fill and r.work == choices.work and r.state == "running"), None)
    if choices.fill and open_fill is not None and extractive is None:
        cells: Iterable[Cell] = [row.cell for row in open_fill.rows]
        return plan_record.planned(open_fill, cells, open_fill, kept)
    key = digest(choices.maker, str(choices.seed), f"fill {fills}" if choices.fill else "")
    earlier = next((record for record in records if record.key == key), None)
    record = PlanRecord(
        key, choices.work, choices.info.name, choices.maker, choices.seed, choices.fill, choices.any_type,
        wanted=choices.limit if extractive else 0,
    )  # fmt: skip
    if not any(outline.characters for outline in documents.outlines):
        raise UsageError(f"Index '{choices.info.name}' holds no text to ask about: add documents, and update it.")
    if extractive is not None:
        texts = {rejection.normal(q.query) for q in existing if q.text and q.status != "rejected"}
        own = earlier.places.keys() & kept if earlier else set()
        asked = AskedPlaces(documents, existing) if choices.fill else None
        chosen = extractive.choose(choices.limit, choices.kinds, choices.styles, first=own, texts=texts, asked=asked)
        return plan_record.planned(record, chosen, earlier, kept)
    cells = planned_cells.plan(
        documents.outlines,
        choices.kinds,
        choices.styles,
        seed=choices.seed,
        known=STRUCTURAL,
        asked=AskedPlaces(documents, existing).counts if choices.fill else None,
        chunks=documents.chunk_places() if choices.every_chunk else (),
    )
    return plan_record.planned(record, cells, earlier, kept)


def _model_maker(
    workspace: Workspace, question_set: QuestionSet, documents: IndexedDocuments, choices: Choices, spending: Spending,
    *, verify: bool,
) -> ModelMaker:  # fmt: skip
    """Return what has a model write the questions within the budget, and verify them unless `verify` is off."""
    store, client = workspace.store, choices.client
    assert client is not None
    client.open()
    work = planning.Plan(store.cache("bank"), answerer=client, spending=spending, patience=0)
    return ModelMaker(
        documents,
        choices.seed,
        choices.passages,
        client,
        Breaker(store.cache("breaker"), question_set.id).watching(asker.Asker(work), "questions"),
        contexts=verifying.contexts_of(workspace, choices.info, spending) if verify else None,
        verify_ask=verifying.asking(workspace, question_set, client, spending),
        verdicts=store.cache(verifying.VERDICTS),
        keys=workspace.settings.keys,
    )


# Before anything is made


SHARE_KEPT = 0.8
"""Share of a model's tries that an estimate counts as kept where the model has made no question of a type yet."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan of a generation, with what exists of it, and what making the rest takes.

    `tried` are how many questions this model has made and kept before, by type, of the types that are missing; (0, 0)
    where it has kept none.
    """

    record: PlanRecord
    forecast: forecast.Forecast
    tried: Mapping[QuestionType, tuple[int, int]] = field(default_factory=dict)

    @property
    def assumed(self) -> str:
        """From what the estimate counts second tries after rejected drafts; "" where no call is made."""
        if not self.forecast.calls:
            return ""
        known = [f"{TYPES[name].title} {kept:,} of {made:,}" for name, (made, kept) in self.tried.items() if kept]
        unknown = [TYPES[name].title for name, (_, kept) in self.tried.items() if not kept]
        joined = [TYPES[name].title for name in self.tried if TYPES[name].most > 1]
        rejected = f"one try in {1 / (1 - SHARE_KEPT):.0f} is counted as rejected"
        return " ".join(
            sentence
            for sentence, applies in (
                (f"Second tries are counted by the share that was kept before: {', '.join(known)}.", known),
                (f"Of {', '.join(unknown)} this model has made none yet: {rejected}.", unknown),
                (f"Which passages {', '.join(joined)} join is decided later: others stand in for them.", joined),
            )
            if applies
        )


def foresee_questions(
    workspace: Workspace,
    index: str,
    name: str,
    *,
    verify: bool = True,
    **wanted: Unpack[Wanted],
) -> Preview:
    """Draw the plan that `generate_questions` would follow, and estimate what it would take and what of it is paid.

    Creates no set, and calls a model only to measure its pace. Counts the calls that write and verify each missing
    question, and its second tries: as many for each kept one as this model took before for its type, in any set; where
    it has made none, `SHARE_KEPT` are counted as kept. Passages that a question joins are stood in for by others, so
    that no document has to be read for its claims: of these questions none is counted as paid already.

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
    tried = _tried(workspace, record)
    tasks = [maker.task(order) for order in _foreseen(record, maker, documents, existing, tried)]
    requests = [model_questions.question_request(task, seed) for task in tasks]
    cached = client.cached(requests)
    written = [
        model_questions.read(reply, task, documents.by_id, client.model, seed)
        if is_paid and (reply := client.ask(request).parsed) is not None
        else model_questions.placeholder(task, client.model)
        for task, request, is_paid in zip(tasks, requests, cached, strict=True)
    ]
    unpaid = [pair for pair, is_paid in zip(zip(tasks, requests, strict=True), cached, strict=True) if not is_paid]
    prompt = sum(fitting.estimate(message["content"]) for _, request in unpaid for message in request.messages)
    reply = sum(model_questions.reply_tokens(task) for task, _ in unpaid)
    checks = forecast.Forecast(0)
    if verify:
        checks = verification.foresee(
            [question for question in written if question.asked],
            partial(_contexts_expected, documents),
            client,
            verdicts=workspace.store.cache(verifying.VERDICTS),
        )
    tokens = prompt + checks.prompt_tokens, reply + checks.completion_tokens
    calls = len(unpaid) + checks.total - checks.cached
    return Preview(
        record,
        forecast.Forecast(
            questions=missing,
            calls={"question": len(requests), **checks.calls} if requests else {},
            cached=sum(cached) + checks.cached,
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            cost=client.price(*tokens),
            seconds=forecast.duration({client: (calls, tokens[1])} if calls else {}, client.concurrency, probe=True),
        ),
        tried,
    )


def _tried(workspace: Workspace, record: PlanRecord) -> dict[QuestionType, tuple[int, int]]:
    """Return how many questions were made and kept of each type that a plan lacks: in its set, else in all others.

    Only those that the plan's generator made; (0, 0) where none was kept.
    """
    lacking = dict.fromkeys(row.cell.type for row in record.rows if row.missing)
    elsewhere: dict[QuestionType, plan_record.Yield] = {}
    if any(not record.yielded(name).kept for name in lacking):
        for question_set in workspace.store.sets.all():
            for other in plan_record.records_of(workspace.store, question_set.id):
                for name, given in other.yields.items() if other.generator == record.generator else ():
                    elsewhere[name] = elsewhere.get(name, plan_record.Yield()) + given
    found = {}
    for name in lacking:
        own = record.yielded(name)
        given = own if own.kept else elsewhere.get(name, own)
        found[name] = (given.made, given.kept) if given.kept else (0, 0)
    return found


def _foreseen(
    record: PlanRecord,
    maker: ModelMaker,
    documents: IndexedDocuments,
    existing: Sequence[Question],
    tried: Mapping[QuestionType, tuple[int, int]],
) -> list[Order]:
    """Return the orders that the missing questions will take, by the share of each type that was kept before."""
    search, missing = SourceSearch(record, maker, documents, existing), Counter[QuestionType]()
    lacking = search.lacking()
    for number, count in lacking.items():
        missing[record.rows[number].cell.type] += count
    for name, count in missing.items():
        made, kept = tried[name]
        tries = math.ceil(count * made / kept if kept else count / SHARE_KEPT)
        rows = [number for number in lacking if record.rows[number].cell.type == name]
        for more in range(tries - count):
            lacking[rows[more % len(rows)]] += 1
    orders = []
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
