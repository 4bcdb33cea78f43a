"""What the first screen of a run shows: computed once for a state of the run, stored, and read without its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis.evaluate import Summary, bound_to
from ragviz.analysis.sides import Column, column
from ragviz.core.call import Estimate
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.models.requests import Usage
from ragviz.runs import contexts, control_items, judgements, measurements
from ragviz.runs.judgements import Judgement
from ragviz.stats.clusters import Clusters
from ragviz.workspace import Workspace

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a run: their ids, the ids of the documents that hold the evidence of each, who made each."""

    ids: tuple[str, ...]
    documents: tuple[tuple[str, ...], ...]
    generators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """The measures of a run's rankings, with curves, and the judgement of its answers, both at the run's own k.

    `questions` counts all questions that the run has asked. `tokens` are those that the first k chunks of a ranking
    hold on average, (depth,), and `reach` those down to the rank by which the evidence of a question has come, (n,);
    None where they are not known (see `contexts.tokens_read`, `contexts.tokens_to`). `given` are those that the
    answerer is given, (depth,) (see `contexts.tokens_given`). `answering` are the calls that answered, and `unpriced`
    how many of them have no price. `answers` are the scores of the answers by metric.
    """

    questions: int
    summary: Summary
    judgement: Judgement
    tokens: NDArray[np.float64] | None
    reach: NDArray[np.int64] | None
    given: NDArray[np.float64] | None
    answering: Usage
    unpriced: int
    asked: Asked
    answers: Mapping[str, Column]


def computed(workspace: Workspace, current: Run) -> Overview:
    """Compute the overview of a run from everything that is stored of it."""
    questions = workspace.store.rankings.questions(current.id)
    results = {result.question_id: result for result in measurements.results_of(workspace, current)}
    retrieved = [(each, results[each.id]) for each in questions if each.id in results]  # the run may go on meanwhile
    summary = measurements.summary_of(workspace, current, retrieved=retrieved)
    judgement = judgements.judgement_of(workspace, current, retrieved=retrieved)
    read = _read(workspace, current, [result for _, result in retrieved], summary.ranks)
    calls = [call for each in judgement.evaluated.values() if (call := each.recording.usage) is not None]
    unpriced = sum(call.cost is None for call in calls)
    answers = {name: column(by_question) for name, by_question in judgement.scores.items()}
    asked = _asked([question for question, _ in retrieved])
    return Overview(len(retrieved), summary, judgement, *read, Usage.of(calls), unpriced, asked, answers)


def _asked(questions: Sequence[Question]) -> Asked:
    of = tuple(tuple(bound_to(question)) for question in questions)
    return Asked(tuple(q.id for q in questions), of, tuple(q.generator for q in questions))


def _read(
    workspace: Workspace, current: Run, results: Sequence[Retrieved], ranks: NDArray[np.int64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.int64] | None, NDArray[np.float64] | None]:
    """Return tokens, reach and what is given of an `Overview`."""
    index = next((i for i in workspace.store.indexes.all(current.corpus_id) if i.id == current.config.index), None)
    if index is None or not index.build or not len(ranks):
        return None, None, None
    sizes = contexts.sizes_of(workspace, index)
    tokens = contexts.tokens_read(results, sizes, current.config.depth)
    return tokens, contexts.tokens_to(results, sizes, ranks), contexts.tokens_given(results, sizes, current)


@cache
def _judgement_type() -> TypeAdapter[Judgement]:
    from pydantic import TypeAdapter

    return TypeAdapter(Judgement)


def to_json(overview: Overview) -> dict[str, Any]:
    """Return an overview as JSON, for `from_json`; numbers that are NaN stay so."""
    summary, judgement = overview.summary, overview.judgement
    arrays = {
        "clusters": asdict(summary.clusters)
        | {"rows": summary.clusters.rows.tolist(), "units": summary.clusters.units.tolist()},
        "ranks": summary.ranks.tolist(),
        "scores": {name: column.tolist() for name, column in summary.scores.items()},
        "metrics": {name: asdict(estimate) for name, estimate in summary.metrics.items()},
        "curves": {name: [column.tolist() for column in band] for name, band in summary.curves.items()},
    }
    return {
        "questions": overview.questions,
        "summary": {field.name: getattr(summary, field.name) for field in fields(summary)} | arrays,
        "judgement": _judgement_type().dump_python(judgement, exclude={"controls"}, warnings=False),
        "tokens": None if overview.tokens is None else overview.tokens.tolist(),
        "reach": None if overview.reach is None else overview.reach.tolist(),
        "given": None if overview.given is None else overview.given.tolist(),
        "answering": asdict(overview.answering),
        "unpriced": overview.unpriced,
        "asked": _asked_to_json(overview.asked),
        "answers": {
            name: {
                # most metrics have a score, or a reason, for every question
                "ids": None if column.question_ids == overview.asked.ids else column.question_ids,
                "values": column.values.tolist(),
                "versions": column.versions,
                "inapplicable": np.flatnonzero(~column.applicable).tolist(),
            }
            for name, column in overview.answers.items()
        },
    }


def from_json(body: Mapping[str, Any], current: Run) -> Overview:
    """Return the overview of a run that `to_json` encoded; the control items are stored with the run."""
    summary, judgement = body["summary"], body["judgement"]
    arrays = {
        "question_ids": tuple(summary["question_ids"]),
        "clusters": Clusters(
            **summary["clusters"] | {name: np.array(summary["clusters"][name], np.int64) for name in ("rows", "units")}
        ),
        "ranks": np.array(summary["ranks"], dtype=np.int64),
        "scores": {name: np.array(column, dtype=np.float64) for name, column in summary["scores"].items()},
        "metrics": {name: Estimate(**estimate) for name, estimate in summary["metrics"].items()},
        "curves": {
            name: tuple(np.array(column, dtype=np.float64) for column in band)
            for name, band in summary["curves"].items()
        },
    }
    tokens = None if body["tokens"] is None else np.array(body["tokens"], dtype=np.float64)
    reach = None if body["reach"] is None else np.array(body["reach"], dtype=np.int64)
    given = None if body["given"] is None else np.array(body["given"], dtype=np.float64)
    judged = _judgement_type().validate_python(judgement | {"controls": None}, strict=False)
    measured = Summary(**summary | arrays), replace(judged, controls=control_items.controls_of(current))
    asked = _asked_from_json(body["asked"])
    answers = {
        name: Column(
            asked.ids if stored["ids"] is None else tuple(stored["ids"]),
            np.array(stored["values"], dtype=np.float64),
            tuple(stored["versions"]),
            ~np.isin(np.arange(len(stored["values"])), stored["inapplicable"]),
        )
        for name, stored in body["answers"].items()
    }
    usage = Usage(**body["answering"])
    return Overview(body["questions"], *measured, tokens, reach, given, usage, body["unpriced"], asked, answers)


def _asked_to_json(asked: Asked) -> dict[str, Any]:
    """Return the questions with their documents and makers by number: both come many times."""
    documents = list(dict.fromkeys(name for of in asked.documents for name in of))
    generators = list(dict.fromkeys(asked.generators))
    number = {name: place for place, name in enumerate(documents)}
    return {
        "ids": asked.ids,
        "documents": [[number[name] for name in of] for of in asked.documents],
        "generators": [generators.index(generator) for generator in asked.generators],
        "document_ids": documents,
        "generator_names": generators,
    }


def _asked_from_json(body: Mapping[str, Any]) -> Asked:
    documents, generators = body["document_ids"], body["generator_names"]
    return Asked(
        tuple(body["ids"]),
        tuple(tuple(documents[place] for place in of) for of in body["documents"]),
        tuple(generators[place] for place in body["generators"]),
    )
