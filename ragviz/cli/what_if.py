"""`ragviz what-if`: what a stored run would have measured with other choices, without running it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.cli.lazy import judgements, risk_coverage, run_verbs, what_if_words
from ragviz.cli.lazy import what_if as what_ifs
from ragviz.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ragviz.analysis.risk_coverage import Confidence
    from ragviz.runs.what_if import Tried

TITLES = {"recall": "Recall", "precision": "Precision", "f1": "F1", "mrr": "MRR", "tokens": "tokens read"}


def what_if(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    k: Annotated[int | None, typer.Option("-k", help="Chunks kept; default: the run's.")] = None,
    constant: Annotated[int | None, typer.Option("--rrf-constant", help="Of a hybrid run; default: the run's.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Keep only chunks that score at least this.")] = None,
    budget: Annotated[int | None, typer.Option(help="Tokens of the chunks handed over; default: the run's.")] = None,
    confidence: Annotated[str, typer.Option(help="What is compared with a threshold: top or margin.")] = "top",
    risk: Annotated[float, typer.Option(help="Share of wrong answers to choose a threshold for.")] = 0.1,
    exact: Annotated[bool, typer.Option("--exact", help="Search exactly too, where the index is approximate.")] = False,
    as_json: Json = False,
) -> None:
    """Show what a run would have measured with another k, RRF constant, score threshold or budget of tokens.

    Also: wrong answers against refusals (risk–coverage). All is read off stored rankings; another RRF constant and
    --exact search once, without answering or judging.
    """
    by = cast("Confidence", console.one_of("confidence", confidence, risk_coverage.CONFIDENCES))
    if not 0 <= risk <= 1:
        raise UsageError(f"A risk of {risk} is no share of answers: give 0 to 1.")
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    what_ifs.check_threshold(run, threshold)
    pairs = what_ifs.pairs_of(workspace, run)
    held = what_ifs.held_of(workspace, run, pairs)
    if constant is not None and constant != run.config.rrf_constant and held.held is None:
        console.perform(workspace, run_verbs.search_again(workspace, run, "components"))
        held = what_ifs.held_of(workspace, run, pairs)
    if exact:
        console.perform(workspace, run_verbs.search_again(workspace, run, "exact"))
    own = what_ifs.own_choices(run)
    choices = what_ifs.chosen_from(held, k, threshold, own.budget if budget is None else budget)
    judgement = judgements.judgement_of(workspace, run)
    tried = what_ifs.tried(workspace, held, pairs, judgement, choices, constant=constant, by=by, most=risk)
    console.show(what_ifs.to_json(tried), as_json, lambda: _draw(tried))


def _draw(tried: Tried) -> None:
    console.out.print(
        console.printable(what_if_words.choices_words(tried.held, tried.choices, tried.constant)), highlight=False
    )
    columns = ("metric", "the run", "what if", "difference [95 %]")
    console.table(columns, [(TITLES[name], *what_if_words.cells(name, each)) for name, each in tried.effects.items()])
    for words in _sentences(tried):
        console.out.print(console.printable(words), highlight=False)


def _sentences(tried: Tried) -> Iterator[str]:
    if tried.curve is not None and tried.chosen is not None:
        yield what_if_words.curve_words(tried.risk, tried.curve)
        yield what_if_words.chosen_words(tried.chosen, tried.curve)
    if tried.losses is not None:
        yield what_if_words.losses_words(tried.losses[0])
    yield from tried.notes.values()
