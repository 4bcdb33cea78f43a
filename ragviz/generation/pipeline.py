"""Generating questions into a question set by a plan: resumable, with progress, yields and costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, TypedDict, Unpack, get_args

from ragviz.core import stopping
from ragviz.core.configuration import IndexInfo
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.question import GeneratorName, Question, QuestionStyle, QuestionType
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.stopping import Progress, silent
from ragviz.generation import model_questions, plan, plan_record, verification, verifying
from ragviz.generation.extractive_maker import ExtractiveMaker
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.making import Making
from ragviz.generation.plan import STRUCTURAL, Cell
from ragviz.generation.plan_record import PlanRecord
from ragviz.generation.sources import Sources
from ragviz.generation.verification import Candidate, Context
from ragviz.index import indexing
from ragviz.judging import forecast
from ragviz.models.chat import ModelClient
from ragviz.questions import sets
from ragviz.questions.question_types import STYLES_OF, TYPES, TYPES_OF
from ragviz.targets import fitting
from ragviz.text import words
from ragviz.text.counts import counted
from ragviz.workspace import Workspace

GENERATORS: tuple[str, ...] = get_args(GeneratorName)
PASSAGES = 2
"""Passages of a bridge where nobody says how many."""
NAMED = 10
"""Documents without questions that are named; `ragviz questions plan --json` names all."""
SHARE_KEPT = 0.8
"""Share of a model's tries that an estimate counts as kept."""
ASSUMED = f"One try in {1 / (1 - SHARE_KEPT):.0f} is counted as rejected, and written again."
"""From what an estimate counts second tries."""


class Wanted(TypedDict, total=False):
    """What a generation is asked for.

    `kinds` are counts by type (see `plan.kinds_of`; without any a mix of what there is), `styles` counts or shares.
    Without a model `kinds` say which types, and the most of each. `passages` is how many a bridge needs.
    """

    limit: int | None
    kinds: Mapping[QuestionType, float | None] | None
    styles: Mapping[QuestionStyle, float | None] | None
    generator: str
    passages: int
    seed: int


@dataclass(frozen=True, slots=True)
class Generated:
    """Result of a generation: `total` questions in the set now, `proposed` and `rejected` ones of this generation.

    `usable` of the `limit` questions that are planned exist now, with those of earlier generations by the same
    generator and seed; `short` is how many are missing by type, `reasons` why tries were rejected. `nothing` says why
    documents have none, by name: those planned for, or of which none can be made without a model; `barren` counts the
    latter. The verification of `unverified` of the usable ones failed.
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
    4 usable of 9, missing: 5 bridge. Tries failed because: asked already (2). For more, add documents or ask for \
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
        why = plan_record.reason_words(result["reasons"])
        tries = f"Tries failed because: {why}. " if why else ""
        more = "For more, add documents or ask for other types."
        lines.append(f"{usable:,} usable of {limit:,}, missing: {missing}. {tries}{more}")
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
    store, info = workspace.store, workspace.store.indexes.get(index)
    corpus = store.corpora.get(info.corpus_id)
    # A set that is there is looked up first: one that is deleted while documents are read is not created again.
    found = sets.question_set(workspace, corpus, name) if store.sets.find(name) is not None else None
    drawn = _drawn(workspace, info, found, progress, **wanted)
    record, client = drawn.record, drawn.client
    if client is not None:
        workspace.check_price(client.model, budget)
    question_set = found or sets.question_set(workspace, corpus, name)
    action = f"generated questions ({record.generator})"
    edit = Edit(workspace.person.name, action, f"generate:{record.key}:{drawn.work}")
    if client is None:
        existing = {question.id for question in store.questions.all(question_set.id)}
        made = [question for question in drawn.chosen if question.id not in existing]
        fact = plan_record.fact_with(store, question_set.id, record)
        store.questions.put(question_set.id, made, edit=edit, facts={plan_record.FACT: fact})
    else:
        spending = workspace.spending(question_set.id, budget)
        ask = verifying.asking(workspace, question_set, client, spending, "questions")
        verifies = partial(
            verification.verify,
            contexts=verifying.contexts_of(workspace, info, spending),
            client=client,
            ask=verifying.asking(workspace, question_set, client, spending),
            verdicts=store.cache(verifying.VERDICTS),
            keys=workspace.settings.keys,
        )
        sources = Sources(drawn.documents, drawn.passages, record.seed)
        work = Making(
            workspace, question_set, record, sources, client, ask, verifies if verify else iter, edit, spending
        )
        made = work.made
        try:
            work.run(progress)
        finally:
            work.store()
    store.evidence.settle_all()  # the index may hold documents that were replaced
    return _result(workspace, question_set, drawn, made, verify=verify and client is not None)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The plan of a generation: `chosen` are the questions without a model; `work` is a key of what was asked for."""

    documents: IndexedDocuments
    record: PlanRecord
    passages: int
    work: str
    client: ModelClient | None = None
    chosen: Sequence[Question] = ()
    barren: int = 0


def _drawn(
    workspace: Workspace,
    info: IndexInfo,
    question_set: QuestionSet | None,
    progress: Progress,
    *,
    limit: int | None = None,
    kinds: Mapping[QuestionType, float | None] | None = None,
    styles: Mapping[QuestionStyle, float | None] | None = None,
    generator: str = "extractive",
    passages: int = PASSAGES,
    seed: int = 0,
) -> _Drawn:
    """Read the documents of an index, and draw the plan, with what exists of it."""
    kinds, styles = dict(kinds or {}), dict(styles or {})
    if generator not in GENERATORS:
        raise UsageError(f"There is no generator '{generator}'; there are {', '.join(GENERATORS)}.")
    if not TYPES["bridge"].fewest <= passages <= TYPES["bridge"].most:
        raise UsageError(f"A bridge needs {TYPES['bridge'].fewest} to {TYPES['bridge'].most} passages, not {passages}.")
    able, put = TYPES_OF[generator], STYLES_OF[generator]
    indexing.check_ready(info)
    client = workspace.model if generator == "model" else None
    progress(0, None, "", "Reading documents")
    documents, maker = IndexedDocuments(workspace, info), client.model if client else generator
    if not any(outline.characters for outline in documents.outlines):
        raise UsageError(f"Index '{info.name}' holds no text to ask about: add documents, and update it.")
    existing = {q.id: q for q in workspace.store.questions.all(question_set.id)} if question_set else {}
    records = plan_record.records_of(workspace.store, question_set.id) if question_set else []
    key = digest(maker, str(seed))
    earlier = next((record for record in records if record.key == key), None)
    kept = [question.id for question in earlier.kept(existing)] if earlier else []
    record = PlanRecord(key, info.name, maker, seed, 0, made=kept)
    work = digest(info.id, str(limit), str(kinds), str(styles), str(passages))
    if client is not None:
        offered = {name for outline in documents.outlines for name in outline.offers}
        mix = {name: share for name, share in plan.MIX.items() if name not in STRUCTURAL or name in offered}
        counts = plan.kinds_of(limit, kinds, mix, able)
        record.wanted = sum(counts.values())
        record.cells = plan.plan(documents.outlines, counts, plan.styles_of(styles, record.wanted, put), seed=seed)
        return _Drawn(documents, record, passages, work, client)
    record.wanted = sum(plan.kinds_of(limit, kinds, dict.fromkeys(able, 1.0), able).values())
    most = {name: record.wanted if (count := kinds.get(name)) is None else int(count) for name in (kinds or able)}
    progress(0, None, "", "Loading language models")
    languages = {document.language for document in documents.by_id.values()}
    stopping.detached(lambda: words.load(languages, phrases=True))
    extractive = ExtractiveMaker(documents, seed, progress)
    counted_styles = plan.styles_of(styles, record.wanted, put)
    chosen = extractive.choose(record.wanted, most, counted_styles, first=kept, existing=list(existing.values()))
    cells = Counter((plan_record.documents_of(q)[0], q.type, q.style) for q in chosen)
    record.cells = [Cell(*cell, count) for cell, count in cells.items()]
    record.made = [question.id for question in chosen]
    unasked = {*extractive.unable, *({outline.document_id for outline in documents.outlines} - {c[0] for c in cells})}
    record.nothing = {document_id: extractive.holds(document_id) for document_id in sorted(unasked)}
    return _Drawn(documents, record, passages, work, None, chosen, len(extractive.unable))


def _result(
    workspace: Workspace, question_set: QuestionSet, drawn: _Drawn, made: Sequence[Question], *, verify: bool
) -> Generated:
    record, questions = drawn.record, workspace.store.questions.all(question_set.id)
    names = {i: document.name for i, document in drawn.documents.by_id.items()}
    shown, paid = plan_record.shown_of([record], questions, names), workspace.store.payments.of(question_set.id)
    rejected = sum(question.status == "rejected" for question in made)
    return Generated(
        questions=question_set.name,
        total=len(questions),
        proposed=len(made) - rejected,
        rejected=rejected,
        calls=paid.calls,
        dollars=paid.dollars,
        usable=shown.exist,
        limit=shown.planned,
        short={row["type"]: row["missing"] for row in shown.types if row["missing"]},
        reasons=dict(plan_record.rejected(questions, [record.generator])),
        unverified=sum(row["unverified"] for row in shown.types) if verify else 0,
        nothing=shown.nothing,
        barren=drawn.barren,
        generator="model" if drawn.client else "extractive",
    )


# Before anything is made


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan of a generation, with what exists of it, and what making the rest takes."""

    record: PlanRecord
    shown: plan_record.Shown
    forecast: forecast.Forecast


def foresee_questions(
    workspace: Workspace, index: str, name: str, *, verify: bool = True, **wanted: Unpack[Wanted]
) -> Preview:
    """Draw the plan that `generate_questions` would follow, and estimate what it would take.

    Creates no set, and calls a model only to measure its pace. Counts the calls that write and verify each missing
    question, and second tries, of which `SHARE_KEPT` are counted as kept.

    Raises:
        UsageError: as `generate_questions`.

    """
    info, named = workspace.store.indexes.get(index), workspace.store.sets.find(name)
    question_set = named if named is not None and named.corpus_id == info.corpus_id else None
    drawn = _drawn(workspace, info, question_set, silent, **wanted)
    questions = workspace.store.questions.all(question_set.id) if question_set else []
    names = {i: document.name for i, document in drawn.documents.by_id.items()}
    shown = plan_record.shown_of([drawn.record], questions, names)
    client, missing = drawn.client, drawn.record.planned - shown.exist
    if client is None or not missing:
        return Preview(drawn.record, shown, forecast.Forecast(questions=missing))
    tasks = _expected_tasks(drawn, {question.id: question for question in questions}, missing)
    requests = [model_questions.question_request(task, drawn.record.seed) for task in tasks]
    prompt = sum(fitting.estimate(message["content"]) for request in requests for message in request.messages)
    reply = sum(model_questions.REPLY + model_questions.CLAIM * len(task.passages) for task in tasks)
    calls = {"question": len(requests)}
    if verify:
        expected = [model_questions.placeholder(task, client.model) for task in tasks]
        checks = verification.foresee(expected, _expected_contexts(drawn.documents), client)
        calls |= checks.calls
        prompt, reply = prompt + checks.prompt_tokens, reply + checks.completion_tokens
    pace = {client: (sum(calls.values()), reply)}
    seconds = forecast.duration(pace, client.concurrency, probe=True)
    cost = client.price(prompt, reply)
    return Preview(drawn.record, shown, forecast.Forecast(missing, calls, 0, prompt, reply, cost, seconds))


def _expected_tasks(drawn: _Drawn, questions: Mapping[str, Question], missing: int) -> list[model_questions.Task]:
    """Return tasks as large as those that the missing questions will take; neighbouring chunks stand in for related."""
    counts = zip(drawn.record.cells, drawn.record.counts(questions), strict=True)
    lacking = [cell for cell, count in counts for _ in range(cell.planned - count)]
    sources = Sources(drawn.documents, drawn.passages, drawn.record.seed)
    tasks = []
    for number in range(math.ceil(missing / SHARE_KEPT)):
        cell = lacking[number % missing]
        many = drawn.passages if cell.type == "bridge" else max(1, TYPES[cell.type].fewest)
        chunks = drawn.documents.chunks(cell.document_id)
        passages = tuple(chunks[(number + n) % len(chunks)] for n in range(many))
        tasks.append(sources.task(passages, cell.type, cell.style))
    return tasks


def _expected_contexts(documents: IndexedDocuments) -> verification.Contexts:
    """Return contexts as large as those of a verification, without a search."""
    chunks = (chunk for document_id in documents.by_id for chunk in documents.chunks(document_id))
    candidates = tuple(Candidate("", chunk.text) for chunk in islice(chunks, 2 * verifying.CANDIDATES))

    def contexts(questions: Sequence[Question]) -> dict[str, Context]:
        return {
            question.id: Context(candidates=candidates)
            if question.unanswerable
            else Context(tuple(span.text for [span] in question.evidence), candidates[: 2 * verification.ELSEWHERE])
            for question in questions
        }

    return contexts
