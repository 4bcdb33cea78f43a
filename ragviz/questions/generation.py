"""Question sets and the sample: each resumable, each telling its progress.

Whatever a person does on a page or the command line goes through here, `corpora`, `indexing` and `running`;
nothing here prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ragviz import sample
from ragviz.answers import answering
from ragviz.documents import corpora
from ragviz.errors import UsageError
from ragviz.index import indexing
from ragviz.index.damage import require_sound
from ragviz.judging import quest_prompts
from ragviz.models.breaker import Breaker
from ragviz.models.chat import ModelClient
from ragviz.models.spending import Spending
from ragviz.questions import interchange, synthesize
from ragviz.records import (
    Chunk,
    Corpus,
    IndexConfig,
    IndexInfo,
    Progress,
    Question,
    QuestionSet,
    RetrieverName,
    RunConfig,
    silent,
)
from ragviz.runs import running
from ragviz.scheduler import forecast, work
from ragviz.text.keys import without_keys
from ragviz.workspace import Workspace

NEIGHBOURS = 20
"""How far to look for chunks that are related to one."""
REPLY, QUOTE = 60, 45
"""Tokens that a question with its answer is taken to have in an estimate, and each quote."""

SAMPLE_QUESTIONS = "sample-questions"
SAMPLE_INDEXES = {
    "sample-tokens-200": IndexConfig(),
    "sample-recursive-120": IndexConfig(chunker="recursive", chunk_size=120),
}
SAMPLE_RUNS: dict[str, tuple[str, RetrieverName]] = dict(
    zip(sample.RUNS, (("sample-tokens-200", "knn"), ("sample-recursive-120", "hybrid")), strict=True)
)


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
            budget for a model without a price.
        BudgetReached: the next call could cost more; give a greater budget to go on.
        ModelError: the endpoint is down or refuses, or hardly any of the model's questions can stand.

    """
    info, client = _checked(workspace, index, limit, generator, passages, budget)
    store, maker = workspace.store, client.model if client else generator
    asked = question_set(workspace, store.corpus(info.corpus_id), name)
    there = {q.id: q for q in store.questions(asked.id)}
    made: list[Question] = []
    standing = _standing(there.values(), maker, passages, seed)
    spending = workspace.spending(asked.id, budget)
    groups = _groups(workspace, info, passages, seed, synthesize.USABLE[generator], spending)
    paying = None
    if client is not None:
        client.open()
        paying = work.Asker(_paying(workspace, asked, client, spending))
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
    requests = [synthesize.question_request(group, seed) for group in islice(waiting, needed)]
    cached = client.cached(requests)
    new = [request for request, is_paid in zip(requests, cached, strict=True) if not is_paid]
    prompt = sum(answering.estimate(message["content"]) for request in new for message in request.messages)
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
    client = workspace.model if generator == "model" else None
    if budget is not None and client is not None and not client.priced:
        raise UsageError(f"A budget needs the price of '{client.model}': enter it on the settings page.")
    return info, client


def _paying(workspace: Workspace, asked: QuestionSet, client: ModelClient, spending: Spending) -> work.Plan:
    """What is to be paid for the questions of a set, as a run pays; a server that is down is not waited for."""
    banks = workspace.store.cache("bank")
    return work.Plan(RunConfig("", asked.id), (), banks, client, spending=spending, patience=0)


def _done(questions: Iterable[Question]) -> set[str]:
    """Ids of the questions that need not be made again."""
    return {question.id for question in questions if not question.reason.startswith(synthesize.FAILED)}


def _standing(questions: Iterable[Question], maker: str, passages: int, seed: int) -> int:
    """How many can stand that were made by this maker with this seed, from so many chunks."""
    return sum(_same_making(question, maker, passages, seed) for question in questions)


def _same_making(question: Question, maker: str, passages: int, seed: int) -> bool:
    """Whether a question that can stand was made by this maker with this seed, from so many chunks."""
    return (
        question.status != "rejected"
        and len(question.source_chunks) == passages
        and question.id == synthesize.question_id(question.source_chunks, maker, seed)
    )


def _sampled(workspace: Workspace, info: IndexInfo, seed: int) -> list[Chunk]:
    """All chunks of an index in the order in which they are to be asked about."""
    cuts = workspace.store.cuts(info.build, info.documents)
    documents = workspace.store.document_texts(info.corpus_id, list(cuts))
    return synthesize.sample({d.id: indexing.chunks_of(d, cuts[d.id]) for d in documents}, info.chunks, seed)


def _groups(
    workspace: Workspace,
    info: IndexInfo,
    passages: int,
    seed: int,
    usable: Callable[[Chunk], bool],
    spending: Spending | None = None,
) -> Iterator[synthesize.Group]:
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
        group = synthesize.related(chunk, [by_id[i] for i in ranking.ids if i in by_id], passages, usable)
        if len(group) == passages:
            yield group
    require_sound(workspace, info)  # else what was not found would be taken for what is not there


def import_questions(
    workspace: Workspace, corpus: Corpus, data: bytes, file_name: str, name: str
) -> interchange.Imported:
    """Read questions from CSV or JSONL into the set `name`; rows that cannot be read are told, the others are kept.

    Raises:
        InputError: the file as a whole cannot be read; no set is made then, nor when no row can be read.

    """
    infos = [d for d in workspace.store.documents(corpus.id) if d.status == "ok"]
    texts = workspace.store.document_texts(corpus.id, [d.id for d in infos])
    imported = interchange.read_questions(data, file_name, {d.name: d for d in texts})
    if imported.questions:
        asked = question_set(workspace, corpus, name)
        workspace.store.put_questions(asked.id, imported.questions)
        workspace.store.settle_all()  # a document may have been replaced since it was read
    return imported


def import_banks(workspace: Workspace, asked: QuestionSet, data: bytes) -> quest_prompts.ImportedBanks:
    """Keep RAGQuestEval banks for the questions of a set: a judge asks those instead of making its own.

    What cannot be read, and banks whose id is no question's, are told as problems.

    Raises:
        InputError: the data as a whole cannot be read.

    """
    found = quest_prompts.read_banks(data)
    there = {question.id: question for question in workspace.store.questions(asked.id)}
    kept = {question_id: bank for question_id, bank in found.banks.items() if question_id in there}
    items = {work.imported_bank_key(there[i]): work.bank_bytes(bank) for i, bank in kept.items()}
    workspace.store.cache("bank").put_many(items)
    workspace.store.touch(asked.id)  # what a run of these questions would ask is another now
    strangers = tuple(f"No question of '{asked.name}' has the id '{i}'." for i in found.banks if i not in kept)
    return quest_prompts.ImportedBanks(kept, found.problems + strangers)


def export_questions(workspace: Workspace, asked: QuestionSet, file_format: str) -> bytes:
    """Write a question set as "csv" or "jsonl", so that importing it gives the same questions."""
    names = {d.id: d.name for d in workspace.store.documents(asked.corpus_id, replaced=True)}
    return interchange.write_questions(workspace.store.questions(asked.id), names, file_format)


def question_set(workspace: Workspace, corpus: Corpus, name: str) -> QuestionSet:
    """Return the set called `name` of a corpus, made when there is none."""
    questions = workspace.store.question_set_named(name)
    if questions is not None and questions.corpus_id != corpus.id:
        raise UsageError(f"Question set '{questions.name}' belongs to another corpus: choose another name.")
    try:
        return questions or workspace.store.create_question_set(corpus.id, name)
    except UsageError:  # another process has made it meanwhile
        if (questions := workspace.store.question_set_named(name)) is None or questions.corpus_id != corpus.id:
            raise
        return questions


# The sample


def load_sample(workspace: Workspace, *, progress: Progress = silent) -> dict[str, Any]:
    """Load the sample corpus and its questions, build two indexes and make two runs; what is there is kept.

    Returns the names: {"corpus", "questions", "indexes", "runs"}.
    """
    store = workspace.store
    corpus = store.corpus_called(sample.NAME)
    documents = sample.documents()
    for number, (name, data) in enumerate(documents):
        progress(number, len(documents), "files", f"Reading {name}")
        corpora.add_file(workspace, corpus, name, data)
    if SAMPLE_QUESTIONS not in {asked.name for asked in store.question_sets(corpus.id)}:
        import_questions(workspace, corpus, sample.questions(), "questions.jsonl", SAMPLE_QUESTIONS)
    for name, config in SAMPLE_INDEXES.items():
        indexing.build_index(workspace, corpus, name, config, progress=progress)
    done = {current.name for current in store.runs(corpus.id) if current.status == "done"}
    for name, (index, retriever) in SAMPLE_RUNS.items():
        if name not in done:
            running.run(workspace, name, RunConfig(index, SAMPLE_QUESTIONS, retriever), progress=progress)
    names = {"indexes": list(SAMPLE_INDEXES), "runs": list(SAMPLE_RUNS)}
    return {"corpus": corpus.name, "questions": SAMPLE_QUESTIONS, **names}
