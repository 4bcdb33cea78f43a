"""Generating questions from an index into a question set: resumable, with progress and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ragviz import stopping
from ragviz.answers import contexts
from ragviz.errors import UsageError
from ragviz.index import indexing
from ragviz.index.damage import require_sound
from ragviz.judging import asker, forecast, planning
from ragviz.models.breaker import Breaker
from ragviz.models.chat import ModelClient
from ragviz.models.spending import Spending
from ragviz.questions import by_model, chosen_chunks, drafts, sets, synthesize
from ragviz.records import Chunk, IndexInfo, Progress, Question, QuestionSet, RunConfig, silent
from ragviz.text import words
from ragviz.text.keys import without_keys
from ragviz.workspace import Workspace

NEIGHBOURS = 20
"""Nearest chunks among which related ones are looked for."""
REASONS = 3
"""Reasons of rejected questions that are listed, the most frequent first."""
REPLY, QUOTE = 60, 45
"""Tokens of a question with its answer, and of each quote, in an estimate."""


@dataclass(frozen=True, slots=True)
class Generated:
    """Result of a generation: `total` questions in the set now, `proposed` and `rejected` ones of this generation.

    `usable` of the `limit` questions asked for exist now, with those of earlier generations from the same `chunks`
    chunks; `passages` chunks were needed for each.

    `calls` and `dollars` are what all generations into the set have paid, this one included; dollars count the calls
    whose model has a price.
    """

    questions: str
    total: int
    proposed: int
    rejected: int
    rejections: Mapping[str, int]
    calls: int = 0
    dollars: float = 0.0
    usable: int = 0
    limit: int = 0
    chunks: int = 0
    passages: int = 1


def shortfall(result: Mapping[str, Any]) -> str:
    """Say why fewer questions exist than were asked for, "" when none is missing; `result` holds `Generated`'s fields.

    >>> result = {"usable": 4, "limit": 9, "chunks": 6, "passages": 1, "rejections": {"it is too short": 2}}
    >>> print(shortfall(result))
    4 of 9 questions asked for: all 6 chunks of the index are used. 2 were rejected: it is too short (2). For more, \
add documents or index them in smaller chunks.
    >>> shortfall(result | {"usable": 9}), shortfall({})
    ('', '')
    """
    usable, limit = result.get("usable", 0), result.get("limit", 0)
    if usable >= limit:
        return ""
    reasons = sorted(result["rejections"].items(), key=lambda item: -item[1])
    listed = "; ".join(f"{reason} ({times:,})" for reason, times in reasons[:REASONS])
    more = f"; {len(reasons) - REASONS} other reasons" if len(reasons) > REASONS else ""
    rejected = sum(times for _, times in reasons)
    were = f"{rejected:,} {'was' if rejected == 1 else 'were'} rejected: {listed}{more}. " if rejected else ""
    of = f" in groups of {result['passages']}, as far as related ones are left" if result["passages"] > 1 else ""
    return (
        f"{usable:,} of {limit:,} questions asked for: all {result['chunks']:,} chunks of the index are used{of}. "
        f"{were}For more, add documents or index them in smaller chunks."
    )


def generate_questions(
    workspace: Workspace,
    index: str,
    name: str,
    *,
    limit: int = 50,
    generator: str = "extractive",
    passages: int = 1,
    seed: int = 0,
    budget: float | None = None,
    progress: Progress = silent,
) -> Generated:
    """Generate questions from the chunks of an index, sampled evenly over its documents, until `limit` are usable.

    All are stored in the set `name`; rejected ones with the reason. Questions already generated from the same chunks
    with the same generator and `seed` count towards `limit` and are not generated again, so an interrupted generation
    resumes, a larger `limit` adds questions, and another `seed` samples other chunks. With `passages` > 1, each
    question needs evidence from that many related chunks. `budget` limits the dollars ever spent on this set.

    Returns the set's totals and what this call added to it; fewer than `limit` are usable when the chunks run out.

    Raises:
        UsageError: the index is not built; there is no such generator; no language model is configured; `limit` is
            below 1 or `passages` not 1 to 5; a budget is given for a model without a price; `passages` > 1 for an index
            without an embedder.
        BudgetReached: the next call could exceed the budget; a larger budget resumes the generation.
        ModelError: the endpoint is down or refuses the request, or nearly all of the model's questions are rejected.

    """
    info, client = _checked(workspace, index, limit, generator, passages, budget)
    store, maker = workspace.store, client.model if client else generator
    question_set = sets.question_set(workspace, store.corpus(info.corpus_id), name)
    existing = store.questions(question_set.id)
    usable = _usable(existing, maker, passages, seed)
    spending = workspace.spending(question_set.id, budget)
    if generator == "extractive" and usable < limit:
        progress(0, None, "", "Loading language models")
        languages = {document.language for document in store.documents(info.corpus_id) if document.status == "ok"}
        stopping.detached(lambda: words.load(languages, phrases=True))
    fresh = synthesize.generate(
        _groups(workspace, info, passages, seed, synthesize.USABLE[generator], spending),
        generator,
        client=client,
        ask=_asker(workspace, question_set, client, spending) if client else None,
        seed=seed,
        limit=max(0, limit - usable),
        done=_done(existing),
        existing=[question.text for question in existing],
    )
    made = _store(workspace, question_set, fresh, usable, limit, spending, progress)
    rejected = [q.reason for q in made if q.status == "rejected"]
    total, paid, proposed = store.question_set(question_set.id).total, store.paid(question_set.id), len(made)
    proposed -= len(rejected)
    return Generated(
        question_set.name, total, proposed, len(rejected), dict(Counter(rejected)), *paid, usable + proposed, limit,
        info.chunks, passages,
    )  # fmt: skip


def _store(
    workspace: Workspace,
    question_set: QuestionSet,
    fresh: Generator[Question],
    usable: int,
    limit: int,
    spending: Spending,
    progress: Progress,
) -> list[Question]:
    """Store `fresh` questions one by one until `limit` are usable; return those that were made."""
    made: list[Question] = []
    progress(usable, limit, "questions", "Writing questions")
    try:
        while usable < limit and (question := next(fresh, None)) is not None:
            question = _without_keys(question, workspace.settings.keys)
            workspace.store.put_questions(question_set.id, [question])
            made.append(question)
            usable += question.status != "rejected"
            spending.settle()
            progress(usable, limit, "questions", question.text or "Writing questions")
    finally:
        fresh.close()  # waits for the calls in flight: they are paid too
        spending.settle()
        workspace.store.settle_all()  # the index may hold documents that were replaced
    return made


def _without_keys(question: Question, keys: Sequence[str]) -> Question:
    """Return a question without keys, which a server may have echoed in it."""
    return replace(question, text=without_keys(question.text, keys), answer=without_keys(question.answer, keys))


def foresee_questions(
    workspace: Workspace,
    index: str,
    name: str,
    *,
    limit: int = 50,
    generator: str = "extractive",
    passages: int = 1,
    seed: int = 0,
) -> forecast.Forecast:
    """Estimate what `generate_questions` would take, and what of it is already paid.

    Creates no set, and calls a model only to measure its pace. Counts one call for each missing question; where this
    model has made questions of this set before, as many for each usable one as then. At most one call for each chunk.

    Raises:
        UsageError: as `generate_questions`.

    """
    info, client = _checked(workspace, index, limit, generator, passages, None)
    same_name = (each for each in workspace.store.question_sets(info.corpus_id) if each.name == name)
    existing = [question for each in same_name for question in workspace.store.questions(each.id)]
    if client is None:
        return forecast.Forecast(questions=max(0, limit - _usable(existing, generator, passages, seed)))
    missing = max(0, limit - _usable(existing, client.model, passages, seed))
    groups = _groups(workspace, info, passages, seed, synthesize.USABLE[generator])
    waiting = synthesize.waiting_groups(groups, client.model, seed, _done(existing))
    requests = [
        by_model.question_request(group, seed) for group in islice(waiting, _calls(missing, existing, client.model))
    ]
    cached = client.cached(requests)
    unpaid = [request for request, is_paid in zip(requests, cached, strict=True) if not is_paid]
    prompt = sum(contexts.estimate(message["content"]) for request in unpaid for message in request.messages)
    reply = len(unpaid) * (REPLY + QUOTE * passages)
    return forecast.Forecast(
        questions=missing,
        calls={"question": len(requests)},
        cached=sum(cached),
        prompt_tokens=prompt,
        completion_tokens=reply,
        cost=client.price(prompt, reply),
        seconds=forecast.duration({client: (len(unpaid), reply)} if unpaid else {}, client.concurrency, probe=True),
    )


def _calls(missing: int, existing: Iterable[Question], model: str) -> int:
    """Estimate the calls that `missing` questions take: by the model's share of usable ones so far, else one each."""
    made = [question for question in existing if question.generator == model]
    kept = sum(question.status != "rejected" for question in made)
    return -(-missing * len(made) // kept) if kept else missing


def _checked(
    workspace: Workspace, index: str, limit: int, generator: str, passages: int, budget: float | None
) -> tuple[IndexInfo, ModelClient | None]:
    """Return the index to make questions from, and the model that writes them, None where none does."""
    if limit < 1 or not 1 <= passages <= 5:
        raise UsageError(f"Give a limit of 1 or more and 1 to 5 passages, not {limit} and {passages}.")
    if generator not in synthesize.GENERATORS:
        raise UsageError(f"There is no generator '{generator}'; there are {', '.join(synthesize.GENERATORS)}.")
    info = workspace.store.index(index)
    indexing.check_ready(info)
    if passages > 1 and not info.config.embedder:
        raise UsageError(
            f"Chunks are related by their vectors, and index '{info.name}' was built without an embedder: ask for "
            "questions of 1 passage, or take an index with an embedder."
        )
    client = workspace.model if generator == "model" else None
    if budget is not None and client is not None and not client.priced:
        raise UsageError(f"A budget needs the price of '{client.model}': enter it on the settings page.")
    return info, client


def _asker(workspace: Workspace, question_set: QuestionSet, client: ModelClient, spending: Spending) -> drafts.Ask:
    """Open the client; return the function that calls it within the budget, and stops a useless model."""
    client.open()
    store, config = workspace.store, RunConfig("", question_set.id)
    plan = planning.Plan(config, store.cache("bank"), answerer=client, spending=spending, patience=0)
    return Breaker(store.cache("breaker"), question_set.id).watching(asker.Asker(plan), "questions")


def _done(questions: Iterable[Question]) -> set[str]:
    """Return the ids of the questions that are not made again."""
    return {question.id for question in questions if not question.reason.startswith(by_model.FAILED)}


def _usable(questions: Iterable[Question], maker: str, passages: int, seed: int) -> int:
    """Count the questions that are not rejected and were made by this maker with this seed, from so many chunks."""
    return sum(
        question.status != "rejected"
        and len(question.source_chunks) == passages
        and question.id == drafts.question_id(question.source_chunks, maker, seed)
        for question in questions
    )


def _sampled(workspace: Workspace, info: IndexInfo, seed: int) -> list[Chunk]:
    """Return all chunks of an index, in the order in which questions are made of them."""
    cuts = workspace.store.cuts(info.build, info.documents)
    documents = workspace.store.document_texts(info.corpus_id, list(cuts))
    return chosen_chunks.sample({d.id: indexing.chunks_of(d, cuts[d.id]) for d in documents}, info.chunks, seed)


def _groups(
    workspace: Workspace,
    info: IndexInfo,
    passages: int,
    seed: int,
    usable: Callable[[Chunk], bool],
    spending: Spending | None = None,
) -> Iterator[chosen_chunks.Group]:
    """Yield groups of `passages` related chunks: each sampled one with its nearest; those with too few are left out.

    New embeddings are recorded in `spending`.
    """
    chunks = _sampled(workspace, info, seed)
    if passages == 1:
        yield from ((chunk,) for chunk in chunks)
        return
    require_sound(workspace, info)
    index, embedder = workspace.index(info), workspace.embedder(info.config.embedder, spending)
    by_id = {chunk.id: chunk for chunk in chunks}
    for chunk in chunks:
        [ranking] = index.knn(embedder.embed([chunk.text], "passage"), NEIGHBOURS)
        group = chosen_chunks.related(chunk, [by_id[i] for i in ranking.ids if i in by_id], passages, usable)
        if len(group) == passages:
            yield group
    require_sound(workspace, info)  # else groups would be missing because the index is damaged
