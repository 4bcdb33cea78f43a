"""Verifying a question set against an index by a model: resumable, with progress and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

from ragviz.core import stopping
from ragviz.core.configuration import IndexInfo
from ragviz.core.digests import new_id
from ragviz.core.document import Chunk
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.ranking import Hit
from ragviz.core.stopping import Progress, silent
from ragviz.generation import evidence_passages, verification
from ragviz.generation.model_questions import Ask
from ragviz.generation.plan_record import reason_words
from ragviz.generation.verification import Candidate, Context, Contexts
from ragviz.judging import forecast, planning, work
from ragviz.models.chat import ModelClient
from ragviz.models.refusals import Breaker
from ragviz.models.requests import Ledger, Spending
from ragviz.retrieval import gold, search
from ragviz.retrieval.retrievers import Retriever
from ragviz.store import schema
from ragviz.text import language, words
from ragviz.text.counts import agreed
from ragviz.text.former_documents import unmarked
from ragviz.workspace import Workspace

CANDIDATES = 20
"""Best chunks of each retriever that are judged for a question that nothing is to answer."""
MOST_CHARACTERS = 40_000
"""Characters of one piece of evidence at most: a longer one fits in no call."""
VERDICTS = "verification"
"""Kind of cache that keeps verdicts of calls about several questions."""
NOT_COUNTED = (
    "Each question is counted as passing every check: one that fails takes fewer calls. Second tries after incomplete "
    "replies are not counted."
)
"""What an estimate assumes."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of a verification: questions that passed, that failed a check, and that could not be verified.

    `faulty` questions are rejected, but for the `accepted` ones, which a person accepted. `reasons` counts why
    questions are faulty or could not be verified. `changed` were edited by somebody meanwhile, and left alone.
    `calls` and `dollars` are what the set has cost so far, its generation included.
    """

    questions: str
    verified: int
    faulty: int
    unverified: int
    changed: int
    reasons: Mapping[str, int]
    accepted: int = 0
    calls: int = 0
    dollars: float = 0.0


def verify_questions(
    workspace: Workspace,
    questions: str,
    index: str,
    *,
    model: str = "",
    budget: float | None = None,
    progress: Progress = silent,
) -> Verified:
    """Verify the proposed and accepted questions of a set that nothing has verified, against the chunks of an index.

    They are stored as they are decided, so that an interrupted verification continues; what was paid is not paid again.
    `model` names the model that verifies, by default RAGVIZ_JUDGE, else RAGVIZ_MODEL. `budget` limits the dollars ever
    spent on this set. The edits make one version of the set.

    Raises:
        UsageError: the index is not built or of another corpus; no model is configured; a budget is given for a model
            without a price.
        BudgetReached: the next call could exceed the budget; a larger one continues.
        ModelError: the endpoint is down or refuses the request.

    """
    info, question_set, client = _checked(workspace, questions, index, model, budget)
    store = workspace.store
    waiting = _waiting(workspace, question_set)
    progress(0, len(waiting), "questions", "Reading questions")
    _load(waiting)
    spending = workspace.spending(question_set.id, budget)
    contexts, ask = contexts_of(workspace, info, spending), asking(workspace, question_set, client, spending)
    verdicts, keys = store.cache(VERDICTS), workspace.settings.keys
    outcomes = verification.verify(waiting, contexts, client, ask, verdicts=verdicts, keys=keys)
    edit = Edit(workspace.person.name, "verified", f"verified {new_id()}")
    reasons = Counter[str]()
    verified = faulty = unverified = changed = accepted = 0
    try:
        for done, question in enumerate(outcomes, start=1):
            version = schema.version_of(waiting[done - 1])
            changed += not store.questions.replace(question_set.id, question, version, edit)[0]
            _, is_unverified, why = question.reason.partition(verification.UNVERIFIED)
            if not question.verified_by:
                unverified += 1
                reasons[is_unverified + ": ".join(why.split(": ")[:2])] += 1
            elif question.status == "rejected" or verification.FAULT in question.reason:
                faulty += 1
                accepted += question.status == "accepted"
                reasons[question.reason.rpartition(verification.FAULT)[2].partition(": ")[0]] += 1
            else:
                verified += 1
            spending.settle()
            progress(done, len(waiting), "questions", "Verifying questions")
    finally:
        spending.settle()
        store.evidence.settle_all()
    paid = store.payments.of(question_set.id)
    counts = (verified, faulty, unverified, changed)
    return Verified(question_set.name, *counts, dict(reasons), accepted, paid.calls, paid.dollars)


def summary(result: Mapping[str, Any], most: int = 3) -> str:
    """Say what a verification found; `result` holds `Verified`'s fields, as that of a job does.

    >>> result = {"verified": 40, "faulty": 3, "unverified": 1, "changed": 0, "accepted": 1}
    >>> print(summary(result | {"reasons": {"answered without any document": 3, "not verified: HTTP 500": 1}}))
    40 of 44 questions passed. 3 failed a check, 1 could not be verified: answered without any document (3); not \
verified: HTTP 500. 1 of them stays accepted, as a person decided.
    >>> summary({"verified": 0, "faulty": 0, "unverified": 0, "changed": 0, "reasons": {}})
    'All questions that are asked are verified already.'
    """
    verified, faulty, unverified = (result[name] for name in ("verified", "faulty", "unverified"))
    total = verified + faulty + unverified
    if not total:
        return "All questions that are asked are verified already."
    failed = [f"{faulty:,} failed a check"] * bool(faulty)
    failed += [f"{unverified:,} could not be verified"] * bool(unverified)
    told = [f"{verified:,} of {total:,} questions passed."]
    if failed:
        told.append(f"{', '.join(failed)}: {reason_words(result['reasons'], most)}.")
    if accepted := result["accepted"]:
        told.append(f"{accepted:,} of them {agreed(accepted, 'stays')} accepted, as a person decided.")
    if result["changed"]:
        told.append(f"{result['changed']:,} were changed by somebody meanwhile, and left alone.")
    return " ".join(told)


def foresee_verification(
    workspace: Workspace,
    questions: str,
    index: str,
    *,
    model: str = "",
    probe: bool = True,
) -> forecast.Forecast:
    """Estimate what `verify_questions` would take, and what of it is already paid; raises UsageError as it does.

    Assumes that every question passes: then the most calls are made. Searches the index for the chunks that
    unanswerable questions are judged by, for which an endpoint's embedder is paid.
    """
    info, question_set, client = _checked(workspace, questions, index, model, None)
    waiting = _waiting(workspace, question_set)
    _load(waiting)
    verdicts, paid = workspace.store.cache(VERDICTS), Ledger()
    contexts = contexts_of(workspace, info, spending := Spending(paid))
    estimate = verification.foresee(waiting, contexts, client, verdicts=verdicts, probe=probe)
    spending.settle()
    return replace(estimate, paid_calls=paid.total.calls, paid=paid.total.dollars)


def _checked(
    workspace: Workspace, questions: str, index: str, model: str, budget: float | None
) -> tuple[IndexInfo, QuestionSet, ModelClient]:
    info, question_set = workspace.store.indexes.get(index), workspace.store.sets.get(questions)
    if info.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{info.name}' and question set '{question_set.name}' belong to different corpora.")
    info = search.ready(workspace, info)
    client = workspace.client(model or workspace.settings.judge or workspace.settings.model)
    workspace.check_price(client.model, budget)
    return info, question_set, client


def _waiting(workspace: Workspace, question_set: QuestionSet) -> list[Question]:
    questions = workspace.store.questions.all(question_set.id)
    return [question for question in questions if question.asked and not question.verified_by]


def _load(questions: Sequence[Question]) -> None:
    """Load what divides the questions' texts into words; a stop does not wait for it."""
    languages = {language.of_answers(question) for question in questions}
    stopping.detached(lambda: words.load(languages))


def asking(
    workspace: Workspace, question_set: QuestionSet, client: ModelClient, spending: Spending, what: str = VERDICTS
) -> Ask:
    """Open the client; return the function that calls it for `what` within the budget, and stops a useless model."""
    client.open()
    plan = planning.Plan(workspace.store.cache("bank"), judge=client, spending=spending, patience=0)
    breaker = Breaker(workspace.store.cache("breaker"), f"{what} {question_set.id}")
    return breaker.watching(work.Asker(plan), what)


def contexts_of(workspace: Workspace, info: IndexInfo, spending: Spending | None = None) -> Contexts:
    """Return what finds the contexts of questions in an index; new embeddings are recorded in `spending`.

    The passage of a piece of evidence is what it tells, not what else its chunk holds. Candidates are the best chunks
    of BM25, and of kNN where the index has vectors: of a question with evidence the first `verification.ELSEWHERE` of
    each without any of it.
    """
    names = ("bm25", "knn") if info.config.embedder else ("bm25",)
    retrievers = cache(lambda: [search.retriever(workspace, info, name, spending=spending) for name in names])

    def contexts(questions: Sequence[Question]) -> dict[str, Context]:
        answered = [question for question in questions if question.kind != "unanswerable"]
        found = dict(_passages(workspace, info, answered))
        asked = [question for question in questions if question.kind == "unanswerable" or found[question.id].passages]
        for question_id, candidates in _candidates(workspace, info, retrievers(), asked) if asked else ():
            found[question_id] = replace(found.get(question_id, Context()), candidates=candidates)
        return found

    return contexts


def _candidates(
    workspace: Workspace, info: IndexInfo, retrievers: Sequence[Retriever], questions: Sequence[Question]
) -> Iterator[tuple[str, tuple[Candidate, ...]]]:
    """Yield the candidates of each question: chunks of all retrievers, the best first, without its evidence."""
    rankings = [retriever([question.query for question in questions], CANDIDATES) for retriever in retrievers]
    of_questions = dict[str, list[str]]()
    for question, *ranked in zip(questions, *rankings, strict=True):
        spans = question.spans
        most = CANDIDATES if question.kind == "unanswerable" else verification.ELSEWHERE
        hits = list[Hit]()
        for ranking in ranked:
            others = (h for h in ranking.hits() if not any(span.overlaps(Chunk.parse_id(h.chunk_id)) for span in spans))
            hits += islice(others, most)
        ordered = sorted(hits, key=lambda hit: hit.rank)
        of_questions[question.id] = list(dict.fromkeys(hit.chunk_id for hit in ordered))
    ids = list({chunk_id for some in of_questions.values() for chunk_id in some})
    texts = dict(zip(ids, search.texts_of(workspace, info.corpus_id)(ids), strict=True))
    document_of = {chunk_id: place[0] for chunk_id in ids if (place := Chunk.parse_id(chunk_id))}
    names = workspace.store.documents.names(info.corpus_id, list(set(document_of.values())))
    for question_id, chunk_ids in of_questions.items():
        listed = [chunk_id for chunk_id in chunk_ids if texts[chunk_id]]
        yield question_id, tuple(Candidate(unmarked(names[document_of[i]]), texts[i]) for i in listed)


def _passages(workspace: Workspace, info: IndexInfo, questions: Sequence[Question]) -> Iterator[tuple[str, Context]]:
    """Yield the context of each question with evidence: what the first member of every group tells."""
    ids = sorted({span.document_id for q in questions for span in evidence_passages.members(q).values()})
    cuts = {
        document_id: [(Chunk.make_id(document_id, start, end), start, end) for start, end, _ in rows.tolist()]
        for document_id, rows in workspace.store.indexes.cuts(info.build, ids).items()
    }
    documents = {document.id: document for document in workspace.store.documents.texts(info.corpus_id, list(cuts))}

    def context(question: Question) -> Context:
        if not question.evidence:
            return Context(lacking="it has no evidence: find it, or mark it as unanswerable")
        members, passages = evidence_passages.members(question), dict[str, None]()
        for number in range(len(question.evidence)):
            span = members.get(number)
            if span is not None and (size := span.end - span.start) > MOST_CHARACTERS:
                why = f"its evidence of {size:,} characters is too long for a call: mark the words that it rests on"
                return Context(lacking=why)
            if span is None or not any(gold.gold_chunks(((span,),), lambda document_id: cuts.get(document_id, ()))):
                return Context(lacking=f"evidence {number + 1} is stale, or in no chunk of index '{info.name}'")
            others = [each for each in members.values() if each != span and each.document_id == span.document_id]
            passages[evidence_passages.told(documents[span.document_id], span, others)] = None
        return Context(tuple(passages))  # evidence in one sentence is one passage

    for question in questions:
        yield question.id, context(question)
