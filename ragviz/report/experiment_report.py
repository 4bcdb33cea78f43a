"""The report of an experiment: decided by the rule that was declared before its first result was seen."""

from __future__ import annotations

from dataclasses import replace

from ragviz.core.experiment import Experiment
from ragviz.experiments import declaring, findings
from ragviz.experiments.findings import Outcome
from ragviz.metrics.registry import title_of
from ragviz.report import comparison_report
from ragviz.report.change_card import Decided
from ragviz.report.page import Card, Part, Section, Table, Text, date, document, mean_cells
from ragviz.workspace import Workspace


def report(workspace: Workspace, experiment: Experiment) -> bytes:
    """Return the report of an experiment: of its confirmation on test where there is one, else of its cells."""
    outcome = findings.outcome_of(workspace, experiment)
    experiment = outcome.experiment
    corpus = workspace.store.corpora.get(experiment.corpus_id).name
    title, cells = f"Experiment {experiment.name}", Section("cells", "Every configuration", _cells(outcome))
    if outcome.on_test is not None and (confirmation := experiment.confirmation) is not None:
        measured = outcome.on_test
        lead = (
            f"An experiment on {corpus} with {len(experiment.cells):,} configurations. {confirmation.chosen} was "
            "chosen on the validation questions, and is reported here on test questions that had no part in the "
            "choice, which were asked once."
        )
        chosen_on = [f"On the validation questions: {outcome.conclusion.sentence}", *outcome.conclusion.notes]
        more = [Section("choice", "How it was chosen", chosen_on), cells]
    elif outcome.comparison is not None:
        measured = replace(outcome.measured, conclusion=outcome.conclusion)
        asked = f"the {experiment.split} questions" if experiment.split else "all questions"
        lead = f"An experiment on {corpus} with {len(experiment.cells):,} configurations, which were asked {asked}."
        more = [cells]
    else:
        said = outcome.conclusion
        card = Card("○", "Undecided", [said.sentence, *said.notes, Text(_declared(experiment))])
        sections = [Section("change", "Change card", [card]), cells]
        return document(title, f"An experiment on {corpus}.", sections, workspace.settings.keys)
    runs = [replace(run, name=name) for name, run in measured.runs.items()]
    warnings = [measured.conclusion.leaning, outcome.lost, *comparison_report.run_warnings(workspace, runs)]
    decided = Decided(measured, _declared(experiment), experiment.rule.guardrails, [*filter(None, warnings)])
    return comparison_report.made(workspace, title, lead, decided, runs, more)


def _declared(experiment: Experiment) -> str:
    seen = f", before the first result of {date(experiment.seen)}" if experiment.seen else ""
    return f"Declared on {date(experiment.created)}{seen}: {declaring.rule_words(experiment.rule)}."


def _cells(outcome: Outcome) -> list[Part]:
    rows = []
    for name, row in outcome.lines:
        mean = " ".join(mean_cells(row.estimate)[:2]) if row.estimate else ""
        verdict = row.delta.verdict if row.delta else ""
        tokens = "" if row.price.tokens is None else f"{row.price.tokens:,.0f}"
        state = f"failed: {row.cell.reason}" if row.cell.state == "failed" else row.cell.state
        rows.append((name, mean, verdict, tokens, state))
    side = outcome.experiment.split or "all"
    caption = f"Configurations on the {side} questions, by {title_of(outcome.experiment.rule.primary)}"
    head = ("Configuration", title_of(outcome.experiment.rule.primary), "Verdict", "Tokens read", "State")
    left_out = [*outcome.experiment.left_out.items()]
    impossible = [Table(("Left out", "Why"), left_out, "Impossible combinations")] if left_out else []
    return [Table(head, rows, caption, numbers=(1, 3)), *impossible]
