"""Questions generated from an index into a question set: resumable, telling its progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

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
from ragviz.text.keys import without_keys
from ragviz.workspace import Workspace

NEIGHBOURS = 20
"""How far to look for chunks that are related to one."""
REPLY, QUOTE = 60, 45
"""Tokens that a question with its answer is taken to have in an estimate, and each quote."""


@dataclass(frozen=True, slots=True)
class Generated:
    """What a generation made: questions in the set now, proposed and rejected ones of this generation.

    `calls` and `dollars` are what all generations into the set have paid, this one among them; dollars count the calls
    whose model has a price.
    """

    questions: str
    total: int
    proposed: int
    rejected: int
    rejections: Mapping[str, int]
    calls: int = 0
    dollars: float = 0.0


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
    """Make questions from the chunks of an index, sampled evenly over its documents, until `limit` of them can stand.

    They go into the set `name`, the rejected ones too, with their reasons. What this generator made of the same chunks
    with the same `seed` counts and is not made again: a stopped generation goes on, a greater limit adds to it, and
    another seed takes other chunks. With `passages` above 1 each question needs so many related chunks. `budget` is in
    dollars, for all that a model was ever paid to write into this set.

    Raises:
        UsageError: the index is not built, no such generator, no model configured, a limit or passages below 1, a
            budget for a model without a price, several passages of an index without an embedder.
        BudgetReached: the next call could cost more; give a greater budget to go on.
        ModelError: the endpoint is down or refuses, or hardly any of the model's questions can stand.

    """
    info, client = _checked(workspace, index, limit, generator, passages, budget)
    store, maker = workspace.store, client.model if client else generator
    asked = sets.question_set(workspace, store.corpus(info.corpus_id), name)
    there = {q.id: q for q in store.questions(asked.id)}
    made: list[Question] = []
    standing = _standing(there.values(), maker, passages, seed)
    spending = workspace.spending(asked.id, budget)
    groups = _groups(workspace, info, passages, seed, synthesize.USABLE[generator], spending)
    paying = None
    if client is not None:
        client.open()
        paying = asker.Asker(_paying(workspace, asked, client, spending))
    fresh = synthesize.generate(
        groups,
        generator,
        client=client,
        ask=paying and Breaker(store.cache("breaker"), asked.id).watching(paying, "questions"),
        seed=seed,
        limit=max(0, limit - standing),
        done=_done(there.values()),
        seen=[q.text for q in there.values()],
    )
    progress(standing, limit, "questions", "Writing questions")
    try:
        while standing < limit and (question := next(fresh, None)) is not None:
            question = _shown(question, workspace.settings.keys)
            store.put_questions(asked.id, [question])
            made.append(question)
            standing += question.status != "rejected"
            spending.settle()
            progress(standing, limit, "questions", question.text or "Writing questions")
    finally:
        fresh.close()  # the calls in flight come home first: they are paid too
        spending.settle()
        store.settle_all()  # the index may hold documents that were replaced
    rejected = [q.reason for q in made if q.status == "rejected"]
    total, paid = store.question_set(asked.id).total, store.paid(asked.id)
    return Generated(asked.name, total, len(made) - len(rejected), len(rejected), dict(Counter(rejected)), *paid)


def _shown(question: Question, keys: Sequence[str]) -> Question:
    """A question as it is kept: a server may have echoed a key in it."""
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
    """What `generate_questions` would take, and what of it is paid for already.

    Makes no set, and asks no model but for its pace.

    Counted is one call for each question that is still wanted; where this model was asked for questions of this set
    before, so many more as it took then. No more than there are chunks.

    Raises:
        UsageError: as `generate_questions`.

    """
    info, client = _checked(workspace, index, limit, generator, passages, None)
    same_name = (asked for asked in workspace.store.question_sets(info.corpus_id) if asked.name == name)
    there = [q for asked in same_name for q in workspace.store.questions(asked.id)]
    if client is None:
        return forecast.Forecast(questions=max(0, limit - _standing(there, generator, passages, seed)))
    wanted = max(0, limit - _standing(there, client.model, passages, seed))
    tried = [q for q in there if q.generator == client.model]
    kept = sum(q.status != "rejected" for q in tried)
    needed = -(-wanted * len(tried) // kept) if kept else wanted
    groups = _groups(workspace, info, passages, seed, synthesize.USABLE[generator])
    waiting = synthesize.waiting_groups(groups, client.model, seed, _done(there))
    requests = [by_model.question_request(group, seed) for group in islice(waiting, needed)]
    cached = client.cached(requests)
    new = [request for request, is_paid in zip(requests, cached, strict=True) if not is_paid]
    prompt = sum(contexts.estimate(message["content"]) for request in new for message in request.messages)
    reply = len(new) * (REPLY + QUOTE * passages)
    return forecast.Forecast(
        questions=wanted,
        calls={"question": len(requests)},
        cached=sum(cached),
        prompt_tokens=prompt,
        completion_tokens=reply,
        cost=client.price(prompt, reply),
        seconds=forecast.duration({client: (len(new), reply)} if new else {}, client.concurrency, probe=True),
    )


def _checked(
    workspace: Workspace, index: str, limit: int, generator: str, passages: int, budget: float | None
) -> tuple[IndexInfo, ModelClient | None]:
    """The index to make questions from, and the model that writes them, None where none does."""
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


def _paying(workspace: Workspace, asked: QuestionSet, client: ModelClient, spending: Spending) -> planning.Plan:
    """What is to be paid for the questions of a set, as a run pays; a server that is down is not waited for."""
    banks = workspace.store.cache("bank")
    return planning.Plan(RunConfig("", asked.id), banks, answerer=client, spending=spending, patience=0)


def _done(questions: Iterable[Question]) -> set[str]:
    """Ids of the questions that need not be made again."""
    return {question.id for question in questions if not question.reason.startswith(by_model.FAILED)}


def _standing(questions: Iterable[Question], maker: str, passages: int, seed: int) -> int:
    """How many can stand that were made by this maker with this seed, from so many chunks."""
    return sum(_same_making(question, maker, passages, seed) for question in questions)


def _same_making(question: Question, maker: str, passages: int, seed: int) -> bool:
    """Whether a question that can stand was made by this maker with this seed, from so many chunks."""
    return (
        question.status != "rejected"
        and len(question.source_chunks) == passages
        and question.id == drafts.question_id(question.source_chunks, maker, seed)
    )


def _sampled(workspace: Workspace, info: IndexInfo, seed: int) -> list[Chunk]:
    """All chunks of an index in the order in which they are to be asked about."""
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
    """Groups of `passages` related chunks: each sampled one with its nearest; one that has too few is left out.

    What is embedded anew is written into `spending`.
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
    require_sound(workspace, info)  # else what was not found would be taken for what is not there
