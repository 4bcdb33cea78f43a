"""The report of several configurations: the change card, plain words, three questions, pictures, every difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragviz.analysis import slices
from ragviz.analysis.compare import Comparison, others_than
from ragviz.analysis.comparison_words import clauses_of, difference_words, missing_words, p_words
from ragviz.analysis.slices import DIMENSIONS
from ragviz.analysis.ties import Price
from ragviz.core.configuration import IndexConfig, Run
from ragviz.core.experiment import Cell, Experiment, ExperimentRule
from ragviz.experiments import conclusion, findings
from ragviz.metrics.registry import title_of
from ragviz.report import appendix, comparison_pictures, telling
from ragviz.report.change_card import Decided, card
from ragviz.report.page import Part, Points, Section, Table, document, mean_cells
from ragviz.runs import comparisons, judgements, measurements, moved_questions
from ragviz.workspace import Workspace


def report(
    workspace: Workspace,
    runs: Sequence[Run],
    k: int | None = None,
    *,
    primary: str = "",
    minimum_effect: float | None = None,
) -> bytes:
    """Return the report of runs compared with the first of them, by the rule that `compare_runs` makes of the rest.

    Raises:
        UsageError: the runs cannot be compared.
        NotFoundError: `primary` is not measured in all runs.

    """
    comparison = comparisons.compare_runs(workspace, runs, k, primary=primary, minimum_effect=minimum_effect)
    by_name = {run.name: run for run in runs}
    prices = comparisons.prices(workspace, by_name, comparison.k, comparison.rule.primary)
    refusals = findings.refusals_of(workspace, by_name)
    as_experiment = Experiment(  # its finished cells are the runs, so that one function concludes from both
        "", runs[0].corpus_id, "", runs[0].config.questions, runs[0].config.split,
        ExperimentRule(comparison.rule.primary, comparison.rule.minimum_effect, comparison.runs[0]),
        tuple(Cell(run.name, IndexConfig(), run.config, "done", run_id=run.id) for run in runs), {}, 0.0,
    )  # fmt: skip
    concluded = conclusion.conclude(as_experiment, comparison, prices, refusals)
    leaning = [concluded.leaning] if len(runs) > 2 and concluded.leaning else []
    measured = findings.Measured(by_name, comparison, prices, refusals, concluded)
    chosen = "was chosen for this report" if comparison.rule.declared else "is the default"
    declared = f"The rule {chosen}: no experiment declared it before the results were seen."
    decided = Decided(measured, declared, warnings=[*leaning, *run_warnings(workspace, runs)])
    corpus = workspace.store.corpora.get(runs[0].corpus_id)
    title = f"{runs[1].name} against {runs[0].name}" if len(runs) == 2 else f"{len(runs)} runs against {runs[0].name}"
    lead = f"A comparison on {corpus.name}, {measurements.asked_words(runs[0])}, k = {comparison.k}."
    return made(workspace, title, lead, decided, runs)


def made(
    workspace: Workspace, title: str, lead: str, decided: Decided, runs: Sequence[Run], more: Sequence[Section] = ()
) -> bytes:
    """Return the report of what was decided; `runs` are those of the comparison, in its order."""
    comparison, candidate = decided.comparison, decided.candidate
    told = telling.compared(comparison, candidate)
    pair = [runs[0], runs[candidate]]
    sections = [
        Section("change", "Change card", [card(decided)]),
        Section("summary", "In plain words", [_summary(decided)]),
        Section("questions", "Three telling questions", telling.drawn(
            workspace, pair, told, telling.COMPARED.format(metric=title_of(comparison.rule.primary)), comparison.k
        )),
        *more,
        Section("pictures", "Pictures", comparison_pictures.drawn(workspace, decided, runs)),
        Section("slices", "Slices of the questions", _slices(workspace, runs, comparison, candidate)),
        Section("numbers", "Every difference", [_numbers(comparison)]),
        Section("configuration", "Configuration", appendix.parts(runs, comparison.runs)),
    ]  # fmt: skip
    return document(title, lead, sections, workspace.settings.keys)


def run_warnings(workspace: Workspace, runs: Sequence[Run]) -> Iterator[str]:
    """Yield what makes the numbers of a run unreliable."""
    for run in runs:
        for problem in judgements.check(workspace, run).problems:
            yield f"{run.name}: {problem}"


def _summary(decided: Decided) -> Points:
    comparison, delta = decided.comparison, decided.delta
    d, name, base = delta.difference, delta.run, comparison.runs[0]
    points = []
    metric = title_of(comparison.rule.primary)
    if d.mean is not None:
        points.append(
            f"Of {d.n:,} questions, {name} does better than {base} on {d.wins:,}, worse on {d.losses:,}, and the same "
            f"on {d.ties:,}, by {metric}."
        )
    others = others_than(comparison, comparison.rule.primary, decided.candidate)
    told = [clauses_of(comparison, each)[decided.candidate - 1] for each in others]
    if told:
        points.append(f"Exploratory, not what decides: {'; '.join(told)}.")
    before, after = (decided.measured.prices.get(run, Price()).tokens for run in (base, name))
    if before and after is not None:
        times = f"{after / before:.2g}"
        more = "about as much text as before" if times == "1" else f"{times} times the text"
        points.append(f"For each question the model would read {more}: {after:,.0f} tokens instead of {before:,.0f}.")
    sure = {
        "better": "The gain is larger than chance explains",
        "worse": "The loss is larger than chance explains",
        "equivalent": "The two do the same within what matters",
        "equal": "The two do the same on every question",
        "undecided": "These questions cannot tell whether the change helps",
    }[delta.verdict]
    scope = (
        "documents like these" if d.generalises else "further questions on these documents, and says nothing of others"
    )
    points.append(f"{sure}. This holds for {scope}.")
    for row in comparison.rows.values():
        points += missing_words(row, base) if row.label == comparison.rule.primary else []
    return Points(points)


def _slices(workspace: Workspace, runs: Sequence[Run], comparison: Comparison, candidate: int) -> list[Part]:
    metric = comparison.rule.primary
    sources = comparisons.stored(workspace)
    found = moved_questions.slices_of(workspace, runs[0], comparison, metric, sources, [candidate])[0]
    if not found.judged:
        return [slices.multiplicity_words(found)]
    rows = [
        (
            DIMENSIONS[each.part.by],
            each.part.title,
            f"{each.n:,}",
            f"{each.clusters:,}",
            f"{each.baseline:.3f}",
            f"{each.other:.3f}",
            difference_words(each.difference) if each.difference else "–",
            each.verdict or "too few",
            "–" if each.p_adjusted is None else p_words(each.p_adjusted),
        )
        for each in found.judged
    ]
    names = comparison.runs[0], comparison.runs[candidate]
    head = ("Divided by", "Slice", "n", "Clusters", *names, "Difference", "Verdict", "p (adjusted)")
    caption = f"{title_of(metric)}, {names[1]} minus {names[0]}, with 95 % intervals. Exploratory"
    notes = [slices.multiplicity_words(found), slices.clusters_words(found)]
    return [" ".join(filter(None, notes)), Table(head, rows, caption, numbers=(2, 3, 4, 5, 6, 8))]


def _numbers(comparison: Comparison) -> Table:
    primary, baseline, *others = comparison.rule.primary, *comparison.runs
    several = len(others) > 1
    rows = [
        (
            title_of(name),
            *([delta.run] if several else []),
            *(" ".join(mean_cells(each)[:2]) for each in (comparison.rows[name].estimates[0], estimate)),
            difference_words(delta.difference),
            delta.verdict,
            p_words(delta.p_adjusted),
            f"{delta.difference.n:,}",
        )
        for name in [primary, *(name for name in comparison.rows if name != primary)]
        for delta, estimate in zip(comparison.rows[name].deltas, comparison.rows[name].estimates[1:], strict=True)
    ]
    runs = ["Run", baseline, "The run"] if several else [baseline, *others]
    head = ("Metric", *runs, "Difference", "Verdict", "p (adjusted)", "n")
    caption = f"Means and paired differences with 95 % intervals. {title_of(primary)} decides; all other metrics are "
    numbers = (2, 3, 4, 6, 7) if several else (1, 2, 3, 5, 6)
    return Table(head, rows, f"{caption}exploratory", numbers)
