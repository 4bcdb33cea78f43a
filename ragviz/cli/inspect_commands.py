"""`ragviz inspect`: everything about one question of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ragviz.analysis import abstention
from ragviz.cli import console
from ragviz.cli.options import Json, RunName
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.score import Score
from ragviz.core.verdict import Bank, EvaluatedAnswer, Matrix
from ragviz.metrics import questeval
from ragviz.retrieval import search
from ragviz.runs import judgements, measurements, overviews
from ragviz.text import former_documents

UNANSWERED = "<Unanswerable>"
SHOWN = 100
"""Characters of a chunk that are printed."""


def inspect(run_name: RunName, question_id: str, as_json: Json = False) -> None:
    """Show everything about one question of a run.

    Answer, chunks, claims and their verdicts, scores with reasons.
    """
    workspace = console.open_workspace()
    store, run = workspace.store, workspace.store.runs.get(run_name)
    question = next((q for q in store.rankings.questions(run.id) if q.id == question_id), None)
    if question is None:
        raise UsageError(f"Run '{run.name}' has no question '{question_id}': see `ragviz questions show`.")
    judgement = overviews.overview(workspace, run).judgement
    if question.id not in judgement.causes:
        raise UsageError(f"Run '{run.name}' was interrupted before this question: give its command again.")
    cause = judgement.causes[question.id]
    evaluated = store.judgements.all(run.id, [question.id], keys=workspace.settings.keys).get(question.id)
    by_metric = measurements.scores_of(workspace, run, question_id=question.id)
    scores = [by_question[question.id] for by_question in by_metric.values()]
    scores += [Score(n, value, version="") for n, value in (evaluated.scores_of_maker if evaluated else {}).items()]
    [retrieved] = store.rankings.all(run.id, [question.id])
    gold = {chunk_id for group in retrieved.gold for chunk_id in group}
    controlled = judgement.controls if evaluated else None
    body = {
        "run": run.name,
        "cause": cause,
        "question": question,
        "ranking": [
            {"rank": f.hit.rank, "score": f.hit.score, "document": f.document_name, "gold": f.hit.chunk_id in gold}
            | {"chunk_id": f.hit.chunk_id, "text": f.chunk.text if f.chunk else None}
            for f in search.with_chunks(workspace, run.corpus_id, retrieved.ranking.hits()[: run.config.k])
        ],
        "evidence": _evidence(question, retrieved, store.documents.names(run.corpus_id)),
        "judged": evaluated and asdict(evaluated) | {"question": question.id},
        "questeval": evaluated and _questeval(evaluated.bank, evaluated.bank_answers),
        "extractive_questeval": evaluated and _questeval(evaluated.extractive_bank, evaluated.extractive_bank_answers),
        "scores": scores,
        "judge_reliable": controlled.reliable if controlled else None,
        "chosen_by": run.provenance.get("chosen_by"),
    }
    claims = evaluated is not None and evaluated.matrix.answer_claims is not None
    meaning = judgements.meaning_of(run, cause, run.config.k, claims=claims, question=question, judgement=judgement)
    noted = [
        controlled.sentence if controlled and not controlled.reliable else "",
        judgements.judge_words(run) if evaluated else "",
        measurements.chosen_words(run),
        f"{meaning.title}. {meaning.explanation}",
    ]
    console.show(body, as_json, lambda: _draw(body, question, evaluated, noted))


def _evidence(question: Question, retrieved: Retrieved, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return each piece of evidence, of alternatives the first, with the rank by which it is found, None for none."""
    ranks = {hit.chunk_id: hit.rank for hit in retrieved.ranking.hits()}
    return [
        {
            "rank": min((ranks[chunk_id] for chunk_id in chunk_ids if chunk_id in ranks), default=None),
            "document": names.get(group[0].document_id, former_documents.UNKNOWN),
            "text": group[0].text,
        }
        for group, chunk_ids in zip(question.evidence, retrieved.gold, strict=False)
    ]


def _questeval(bank: Bank | None, answers: Sequence[str | None] | None) -> dict[str, Any] | None:
    """Return RAGQuestEval over both denominators, and as the public code computes it (`crud`)."""
    if bank is None or answers is None:
        return None
    precision, recall = questeval.crud([item.answer for item in bank.items], answers)
    return asdict(questeval.measure(bank, answers)) | {"crud": {"precision": precision, "recall": recall}}


def _draw(body: Mapping[str, Any], question: Question, evaluated: EvaluatedAnswer | None, noted: Sequence[str]) -> None:
    console.say(*noted)
    texts = [("question", question.text), ("reference", question.answer)]
    if evaluated:
        texts.append(("answer", f"{evaluated.recording.answer} ({abstention.STATUSES[evaluated.recording.status]})"))
    console.table(("", ""), texts)
    columns: console.Columns = {
        "rank": "rank",
        "": lambda chunk: "evidence" if chunk["gold"] else "",
        "document": "document",
        "chunk": lambda chunk: console.line(chunk["text"] or "(its document was removed)")[:SHOWN],
    }
    console.table([*columns], console.cells(body["ranking"], columns))
    found = [(each["rank"] or "not found", each["document"], console.line(each["text"])) for each in body["evidence"]]
    if found:
        console.table(("rank", "document", "evidence"), found)
    if evaluated:
        console.table(("claim of", "claim", "passages", "other text"), [*_claim_rows(evaluated.matrix)])
        if evaluated.bank and evaluated.bank_answers is not None:
            pairs = zip(evaluated.bank.items, evaluated.bank_answers, strict=True)
            asked = [(item.question, item.answer or UNANSWERED, said or UNANSWERED) for item, said in pairs]
            console.table(("RAGQuestEval question", "by the reference", "by the answer"), asked)
    scores: Sequence[Score] = body["scores"]
    if scores:
        rows = [(s.metric, "" if s.value is None else f"{s.value:.3f}", s.status, s.reason, s.version) for s in scores]
        console.table(("metric", "value", "status", "reason", "version"), rows)


def _claim_rows(matrix: Matrix) -> Iterator[tuple[str, str, str, str]]:
    sides = (
        ("answer", matrix.answer_claims, matrix.answer_by_chunk, matrix.answer_by_reference),
        ("reference", matrix.reference_claims, matrix.reference_by_chunk, matrix.reference_by_answer),
    )
    for side, claims, by_chunk, by_text in sides:
        for place, claim in enumerate(claims or ()):
            row = by_chunk[place] if by_chunk else ()
            ranks = [f"{n}" for n, each in enumerate(row, start=1) if each.verdict in ("supported", "together")]
            yield side, claim.text, ", ".join(ranks) or "none", by_text[place].verdict if by_text else ""
