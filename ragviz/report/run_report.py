"""The report of one run: its state, what to do next, three questions, pictures, every mean, its configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragviz.analysis import evaluate
from ragviz.analysis.evaluate import Floats, Summary
from ragviz.analysis.rescue import Rescue
from ragviz.analysis.run_verdict import NOT_LOST
from ragviz.core.configuration import Run
from ragviz.core.question import Question
from ragviz.metrics.registry import METRICS, label, shown_in, title_of
from ragviz.questions import without_model
from ragviz.report import appendix, curve_plots, plots, telling
from ragviz.report.page import (
    Card,
    Fact,
    Facts,
    Part,
    Points,
    Section,
    Table,
    Text,
    date,
    document,
    estimate_fact,
    figure,
    mean_cells,
)
from ragviz.runs import judgements, measurements, overviews, replays, rescue_words
from ragviz.targets.targets import TARGETS
from ragviz.workspace import Workspace


def report(workspace: Workspace, run: Run) -> bytes:
    """Return the report of a run at its own k; nothing is searched, and no model is asked."""
    whole = overviews.overview(workspace, run)
    summary, judgement, k = whole.summary, whole.judgement, run.config.k
    questions = workspace.store.rankings.questions(run.id)
    at = judgements.AtK(run, summary, judgement, judgement.causes, whole.asked.kind_of)
    changes: list[Section] = []
    told, rule, replayed = list[telling.Example](), telling.REPLAYED, ""
    if summary.n and not measurements.unranked_words(run):
        columns = replays.columns_of(workspace, run)
        rescued = replays.rescue(columns, k)
        told, replayed = telling.replayed(columns, rescued), rescue_words.sentence(columns, rescued)
        changes = [Section("changes", "What would rescue the lost questions", _changes(columns, rescued))]
    if not told:
        lost = [q.id for q in questions if judgement.causes.get(q.id, "") not in ("", *NOT_LOST)]
        told, rule = [telling.Example(i, "Lost") for i in lost[:3]], "The first questions of the set that were lost."
    corpus = workspace.store.corpora.get(run.corpus_id)
    abstained = f"{judgement.abstention.words}." if judgement.statuses and run.knows.answers else ""
    controlled = judgement.controls.sentence if judgement.controls else ""
    points = [_made_words(run), abstained, replayed, controlled, f"{judgements.cost_words(judgement).rstrip('.')}."]
    sections = [
        Section("state", "State of this run", [_card(workspace, at, whole.given, questions)]),
        Section("summary", "In plain words", [Points([*filter(None, points)])]),
        Section("questions", "Three telling questions", telling.drawn(workspace, [run], told, rule, k)),
        Section("pictures", "Pictures", [*_pictures(at)]),
        *changes,
        Section("numbers", "Every mean", [_numbers(summary, judgement)]),
        Section("configuration", "Configuration", appendix.parts([run])),
    ]
    lead = f"A run on {corpus.name}, {measurements.asked_words(run)}, made {date(run.created)}."
    lead = " ".join(filter(None, [lead, measurements.chosen_words(run)]))
    return document(f"Run {run.name}", lead, sections, workspace.settings.keys)


def _card(workspace: Workspace, at: judgements.AtK, tokens: Floats | None, questions: Sequence[Question]) -> Card:
    run, summary, judgement, checked = at.run, at.summary, at.judgement, judgements.check(workspace, at.run)
    facts = []
    if summary.n:
        tiles = [label(name, summary.k) for name in shown_in("tile") if name in METRICS]
        facts += [estimate_fact(title_of(name), summary.metrics[name]) for name in tiles]
        facts.append(Fact(f"Not in the first {summary.depth}", f"{summary.misses:,}", f"of {summary.n:,} questions"))
    if judgement.statuses:
        rows = [name for name in shown_in("row") if name in judgement.metrics][:3]
        facts += [estimate_fact(title_of(name), judgement.metrics[name].estimate) for name in rows]
    if tokens is not None and len(tokens) >= summary.k:
        facts.append(Fact("Tokens read", f"{tokens[summary.k - 1]:,.0f}", "a question on average"))
    limits = [
        evaluate.doubt_words(summary) if summary.n else "",
        without_model.words([question.generator for question in questions]),
    ]
    parts: list[Part] = [
        *(Text(problem, "warning") for problem in checked.problems),
        at.verdict,
        Facts(facts),
        *(Text(words) for words in limits if words),
        measurements.unranked_words(run),
    ]
    state = f"Numbers can be relied on{'' if checked.controls else '; no judge was controlled'}"
    if not checked.passed:
        state = "Numbers cannot be relied on"
    elif run.config.judge and checked.controls is None:
        state = f"Complete; its judge, {run.config.judge}, was not checked by control items"
    return Card("●", state, [part for part in parts if part], "" if checked.passed else "no")


def _made_words(run: Run) -> str:
    config, cut = run.config, run.provenance["index_config"]
    if run.knows.opaque:
        return "Another system answered the questions; of how it retrieves, only the contexts that it read are known."
    words = (
        f"For each question, {config.ranked_by} ranks chunks of {cut['chunk_size']} tokens (cut by {cut['chunker']}); "
        f"{'the first is' if config.k == 1 else f'the first {config.k} are'} kept."
    )
    if not run.knows.answers:
        return f"{words} No answers were generated."
    given = "" if run.knows.first_k else f", from {TARGETS[config.context].basis}"
    by = "written by hand" if not run.knows.again else f"given by {config.model or config.answerer}"
    return f"{words} Answers were {by}{given}."


def _pictures(at: judgements.AtK) -> Iterator[Part]:
    summary, steps = at.summary, at.steps
    if summary.n:
        histogram = curve_plots.rank_histogram(curve_plots.Ranks("", summary.ranks), depth=summary.depth, k=summary.k)
        yield figure(histogram, "At which rank the evidence is")
        lines = [curve_plots.Curve(METRICS[n].name, *summary.curves[n], summary.n) for n in summary.curves]
        curves = curve_plots.curves(lines, k=summary.k)
        yield figure(curves, "Precision, recall and F1 against k", "Bands are 95 % intervals.")
    bars = plots.waterfall([(s.title, s.count, s.left) for s in steps], correct=steps[-1].cause == "fine")
    yield figure(bars, "Where questions are lost")


def _changes(columns: replays.Columns, rescued: Rescue) -> list[Part]:
    now = columns.tokens_now(rescued.k)
    rows = []
    for row in rescued.rows:
        tokens, name = rescue_words.tokens_words(row.replay.tokens, now), rescue_words.title(columns, row.replay.key)
        rows.append((name, f"{row.rescues:,}", f"{row.breaks:,}", rescue_words.net_words(row), tokens))
    head, caption = ("Change", "Rescues", "Breaks", "Net [95 %]", "Tokens read"), "Changes, the greatest net gain first"
    notes = (Text(note) for note in rescue_words.notes(columns, rescued.k))
    return [rescue_words.sentence(columns, rescued), Table(head, rows, caption, numbers=(1, 2, 3, 4)), *notes]


def _numbers(summary: Summary, judgement: judgements.Judgement) -> Table:
    rows = [(title_of(name), *mean_cells(estimate), "") for name, estimate in summary.metrics.items() if summary.n]
    rows += [(title_of(name), *mean_cells(each.estimate), each.without) for name, each in judgement.metrics.items()]
    head = ("Metric", "Mean", "95 % interval", "n", "Without a score")
    return Table(head, rows, "Means over questions", numbers=(1, 2, 3))
