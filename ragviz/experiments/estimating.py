"""What a sweep takes before it is started, and what of it is there already; nothing is built, embedded or asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ragviz.core.configuration import IndexConfig, IndexInfo
from ragviz.core.document import Corpus
from ragviz.core.errors import RagvizError
from ragviz.core.experiment import Cell
from ragviz.core.question_set import QuestionSet
from ragviz.experiments import sweeping
from ragviz.index import preview
from ragviz.index.preview import Extent
from ragviz.judging.forecast import Forecast
from ragviz.models.requests import dollars
from ragviz.retrieval import rerankers, retrievers
from ragviz.runs import running
from ragviz.store import stored_calls
from ragviz.workspace import Workspace


@dataclass(frozen=True, slots=True)
class IndexTakes:
    """An index that cells need: `name` is "" for one that is to be built, whose `extent` is estimated.

    `reason` says why that is not known.
    """

    config: IndexConfig
    cells: int
    name: str = ""
    extent: Extent | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Takes:
    """What the cells that are not done take.

    `asked` counts cells that are running systems. `rankings` counts what is retrieved: cells that differ in k or in
    their answers share one. `forecast` is an upper bound of the calls of models, as verdicts are pooled over cells;
    None where models are asked and no built index stands in to count the calls on. `seconds` are those of embedding
    and retrieving, None while no speed of one of these was measured; `embedding_seconds` are those of embedding alone.
    """

    cells: int
    done: int
    questions: int
    asked: int
    rankings: int
    indexes: tuple[IndexTakes, ...]
    forecast: Forecast | None
    seconds: float | None
    embedding_seconds: float | None

    @property
    def to_build(self) -> list[IndexTakes]:
        """The indexes that are not there."""
        return [index for index in self.indexes if not index.name]

    @property
    def chunks(self) -> int:
        """Chunks of the indexes to be built that are embedded, as far as they are known."""
        return sum(i.extent.chunks for i in self.to_build if i.extent is not None and i.config.embedder)


def estimated(
    workspace: Workspace, corpus: Corpus, question_set: QuestionSet, cells: Sequence[Cell], *, calls: bool = True
) -> Takes:
    """Estimate what cells take; without `calls` those of models are not counted, which is quick."""
    left = [cell for cell in cells if not sweeping.is_done(workspace, cell)]
    todo = [cell for cell in left if not cell.run.system]
    infos = workspace.store.indexes.all(corpus.id)
    configs = {cell.index.hash(): cell.index for cell in todo}.values()
    indexes = [_index(workspace, corpus, infos, config, todo) for config in configs]
    side = cells[0].run.split
    questions = question_set.sides.get(side, 0) if side else sum(question_set.sides.values())
    ranked = {}
    for cell in todo:
        run = cell.run
        by = (run.retriever, run.rrf_constant, run.reranker, run.rerank_depth, run.depth)
        ranked[cell.index.hash(), *by] = cell
    embedding = _total(each.extent.seconds if each.extent else None for each in indexes if not each.name)
    learnt = workspace.store.cache("rate")
    paces = [stored_calls.rate(learnt, running.questions_by(c.run, c.index.embedder)) for c in ranked.values()]
    retrieving = _total(pace and questions / pace for pace in paces)
    return Takes(
        cells=len(cells),
        done=len(cells) - len(left),
        questions=questions,
        asked=len(left) - len(todo),
        rankings=len(ranked),
        indexes=tuple(indexes),
        forecast=_forecast(workspace, infos, todo) if calls else Forecast(questions),
        seconds=None if embedding is None or retrieving is None else embedding + retrieving,
        embedding_seconds=embedding,
    )


def _total(parts: Iterable[float | None]) -> float | None:
    known = list(parts)
    return None if None in known else sum(part for part in known if part is not None)


def _index(
    workspace: Workspace, corpus: Corpus, infos: Sequence[IndexInfo], config: IndexConfig, cells: Sequence[Cell]
) -> IndexTakes:
    count = sum(cell.index.hash() == config.hash() for cell in cells)
    existing = sweeping.index_of(infos, config)
    if existing is not None and sweeping.is_current(workspace, existing):
        return IndexTakes(config, count, existing.name)
    try:
        return IndexTakes(config, count, extent=extent_of(workspace, corpus, config))
    except RagvizError as error:
        return IndexTakes(config, count, reason=str(error))


def extent_of(workspace: Workspace, corpus: Corpus, config: IndexConfig) -> Extent:
    """Estimate the size of an index of all documents of a corpus; raises as `preview.cuts`."""
    documents = [d for d in workspace.store.documents.all(corpus.id) if d.status == "ok" and d.characters]
    sample = preview.sampled(documents)
    cuts = preview.cuts(workspace, corpus.id, [d.id for d in sample], preview.share_of(sample) if sample else 0, config)
    speed = preview.speed_of(workspace, config.embedder)
    return preview.extent(documents, sample, list(cuts.values()), embeds=bool(config.embedder), speed=speed)


def _forecast(workspace: Workspace, infos: Sequence[IndexInfo], cells: Sequence[Cell]) -> Forecast | None:
    """Add up the calls of cells, each counted on its index, or on another one that can serve it."""
    total = Forecast(0)
    for cell in cells:
        if not cell.run.knows.answers and not cell.run.metrics and not rerankers.model_of(cell.run.reranker):
            continue
        ready = [info for info in infos if info.build and cell.run.retriever in retrievers.offered(info.config)]
        index = sweeping.index_of(ready, cell.index) or next(iter(ready), None)
        if index is None:
            return None
        estimate = running.foresee(workspace, replace(cell.run, index=index.id))
        total = replace(
            running.added(total, estimate),
            calls=dict(Counter(total.calls) + Counter(estimate.calls)),
            questions=total.questions + estimate.questions,
            paid_calls=total.paid_calls + estimate.paid_calls,
            paid=total.paid + estimate.paid,
        )
    return total


def to_json(estimate: Takes) -> dict[str, Any]:
    """Return an estimate as the command line prints it."""
    forecast = asdict(estimate.forecast) | {"total": estimate.forecast.total} if estimate.forecast else None
    return asdict(estimate) | {"to_build": len(estimate.to_build), "chunks": estimate.chunks, "forecast": forecast}


def words(estimate: Takes) -> list[str]:
    """Say what a sweep takes, a sentence for each part."""
    there = len(estimate.indexes) - len(estimate.to_build)
    embedded = [index for index in estimate.to_build if index.config.embedder]
    exact = all(index.extent is not None and index.extent.exact for index in embedded)
    said = [
        f"{estimate.cells - estimate.done:,} of {estimate.cells:,} cells are to be run, on {estimate.questions:,} "
        f"questions; rankings are retrieved {estimate.rankings:,} times, as cells that differ in k share one.",
        f"Indexes to build: {len(estimate.to_build):,}, there already: {there:,}; "
        f"{'' if exact else 'about '}{estimate.chunks:,} chunks to embed, fewer where texts were embedded before.",
    ]
    said += [f"Running systems to ask: {estimate.asked:,}; judging is not counted."] if estimate.asked else []
    said += [f"An index cannot be estimated: {index.reason}" for index in estimate.to_build if index.reason]
    forecast = estimate.forecast
    if forecast is None:
        said.append("The calls of models cannot be counted before an index of the corpus is built.")
    elif forecast.total:
        cost = "no price known" if forecast.cost is None else dollars(forecast.cost)
        said.append(
            f"At most {forecast.total:,} calls of models, {forecast.cached:,} of them paid already; to pay: "
            f"{forecast.prompt_tokens:,} input + {forecast.completion_tokens:,} output tokens, {cost}."
        )
    else:
        said.append("No call of a model: nothing to pay.")
    model_seconds = forecast.seconds if forecast is not None else None
    if estimate.seconds is None or model_seconds is None:
        embedding = estimate.embedding_seconds
        known = f"; embedding takes about {embedding / 60:.1f} minutes" if embedding else ""
        said.append(f"The whole duration is not known yet on this machine{known}.")
    else:
        said.append(f"About {(estimate.seconds + model_seconds) / 60:.1f} minutes, at the speed of earlier work.")
    return said
