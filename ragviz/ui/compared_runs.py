"""Runs compared: what the page Compare is asked to show, and its verdict, pictures and tables of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from ragviz.analysis import compare, comparison_words, differing, leaderboards, ties
from ragviz.analysis.compare import Comparison, Delta, MetricRow
from ragviz.analysis.evaluate import CURVES
from ragviz.core.configuration import Run
from ragviz.metrics.registry import METRICS, scale_of, title_of
from ragviz.report import comparison_pictures, curve_plots, difference_plots, expense_plots, small_multiples
from ragviz.runs import comparisons
from ragviz.runs.overviews import Overview
from ragviz.text.markup import plain
from ragviz.text.names import distinct, short_names
from ragviz.ui import address, cache, wording
from ragviz.ui.kit import figure, heading, notices, table
from ragviz.ui.run_table import MOST_COMPARED

MARKS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "equivalent": "≈ equivalent",
    "undecided": "? undecided",
    "equal": "= equal",
}
AXES: Mapping[ties.By, tuple[str, str]] = {
    "tokens": ("Tokens read a question", "of the first k chunks, over the questions with evidence"),
    "dollars": ("Dollars a question", "of the model calls that answered; judging is not in them"),
    "seconds": ("Seconds a question", "of retrieval, reranking and the answering call, when the run was made"),
}
"""What a run takes → title and meaning."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Runs, the first of which is the baseline, compared by `metric`; `other` is the one looked at in detail."""

    runs: tuple[Run, ...]
    comparison: Comparison
    metric: str
    other: str
    of: cache.State

    @property
    def place(self) -> int:
        """The place of the other run in the comparison."""
        return self.comparison.runs.index(self.other)

    @property
    def names(self) -> tuple[str, str]:
        """The names of the baseline and the other run."""
        return self.comparison.runs[0], self.other

    @property
    def labels(self) -> list[str]:
        """The names of all runs, as pictures show them."""
        return distinct(self.comparison.runs, 28)

    @property
    def both(self) -> tuple[Run, Run]:
        """The baseline and the other run themselves."""
        return self.runs[0], self.runs[self.place]

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others, for `cache.kept`."""
        return self.of, self.comparison.k, self.comparison.rule, self.metric, self.other

    def delta(self, metric: str = "") -> Delta:
        """Return the difference of the other run in a metric, by default the one shown."""
        return next(d for d in self.comparison.rows[metric or self.metric].deltas if d.run == self.other)


# What is asked for


def requested_runs(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that the parameter `runs` names, by name or id."""
    requested = [name for name in st.query_params.get("runs", "").split(",") if name]
    by_name = {run.name: run for run in runs} | {run.id: run for run in runs}
    for name in requested:
        if name not in by_name:
            st.warning(f"There is no run called “{wording.quoted(name)}” here.")
    return list({by_name[name].id: by_name[name] for name in requested if name in by_name}.values())


def chosen_runs(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of the address, the first of them the baseline.

    By default the run seen last, else the newest, and the newest other one on the same questions; the older one first.
    """
    by_name = {run.name: run for run in runs}
    shown = [run.name for run in requested_runs(runs)]
    if not shown and runs and st.query_params.get("runs") != "":  # which a person has emptied
        seen = by_name.get(address.last_value("run") or "", runs[0])
        asked = (seen.config.questions, seen.config.split)
        alike = (run for run in runs if run != seen and (run.config.questions, run.config.split) == asked)
        other = next(alike, None)
        shown = [run.name for run in reversed(runs) if run in (seen, other)]
    names = st.multiselect(
        "Runs", list(by_name), max_selections=MOST_COMPARED,
        **address.shows("runs-shown", shown, lambda names: {"runs": written(names, by_name), "question": None}),
    )  # fmt: skip
    address.settle("runs", written(names, by_name) or None)
    return [by_name[name] for name in names]


def written(names: Sequence[str], by_name: Mapping[str, Run]) -> str:
    """Return the names separated by commas; a run with a comma in its name is written by its id."""
    return ",".join(by_name[name].id if "," in name else name for name in names)


def pair_parameters(runs: Sequence[Run], baseline: str, other: str) -> dict[str, str]:
    """Return the parameters of a pair: the baseline is the first of the runs."""
    names = [baseline, *(run.name for run in runs if run.name != baseline)]
    return {"runs": written(names, {run.name: run for run in runs}), "other": other}


def choose_other(comparison: Comparison) -> str:
    """Draw the choice of the run that is compared with the baseline in detail, where there are several."""
    others = comparison.runs[1:]
    if len(others) == 1:
        return address.readable("other", address.one_of(others), "a run that is compared with the first") or others[0]
    short = short_names(comparison.runs, 40)
    return address.choose("Compared with it", others, "other", format_func=short.__getitem__) or others[0]


def choose_rule(of: cache.State, k: int) -> Comparison:
    """Return the comparison by the rule of the address: what decides, and the smallest difference that matters."""
    effect = address.readable("effect", address.share_within(0.001, 0.5), "a share from 0.001 to 0.5, as 0.02")
    ruled = cache.comparison(of, k)
    names = list(ruled.rows)
    primary = address.readable("primary", address.one_of(names), f"one of {', '.join(names)}") or ""
    if primary or effect:
        ruled = cache.comparison(of, k, primary, effect)
    with st.popover("Rule", icon=":material/gavel:", width="stretch"):
        st.selectbox(
            "Primary metric", names, format_func=title_of,
            help="The one metric that decides. All others are exploratory. Name it before you see a result.",
            **address.shows("primary-chosen", ruled.rule.primary, lambda name: {"primary": name, "metric": None}),
        )  # fmt: skip
        st.number_input(
            "Smallest difference that matters", 0.001, 0.5, step=0.01, format="%.3f",
            help="As a share of the metric's range. Runs that are closer than this are equivalent.",
            **address.shows("effect-chosen", ruled.rule.minimum_effect, lambda effect: {"effect": f"{effect:g}"}),
        )  # fmt: skip
    return ruled


# The answer


@cache.kept(16)
def _in_common(shown: Compared) -> dict[str, Overview]:
    return comparisons.in_common(cache.workspace(), {run.name: run for run in shown.runs}, cache.SOURCES)


@cache.kept(64)
def _prices(shown: Compared) -> dict[str, ties.Price]:
    runs = {run.name: run for run in shown.runs}
    return comparisons.prices(cache.workspace(), runs, shown.comparison.k, shown.metric, cache.SOURCES)


@cache.kept(64)
def all_pairs(shown: Compared) -> tuple[compare.Pair, ...]:
    """Return every pair of runs in the metric shown."""
    return compare.pairs(shown.comparison, shown.metric)


def in_words(shown: Compared) -> None:
    """Draw the verdict in the chosen metric, then the headline's other metrics, always with the interval."""
    comparison, metric = shown.comparison, shown.metric
    heading.section(plain(comparison_words.verdict(comparison, metric)))
    others = compare.others_than(comparison, metric, comparison.runs.index(shown.other))
    if len(comparison.runs) > 3:  # the verdict counts them: this one is followed below
        others.insert(0, metric)
    st.markdown(_listed([comparison_words.clause(comparison.runs[0], name, shown.delta(name)) for name in others]))
    deltas = comparison.rows[metric].deltas
    tied = ties.contenders(comparison.runs[0], deltas, lambda: all_pairs(shown))
    preferred = ties.words(tied, ties.broken(tied, _prices(shown))) if len(tied) > 1 else ""
    n = wording.counted(comparison.rows[metric].estimates[0].n, "question")
    of = "with a score" if metric in comparison.answers else "with evidence"
    asked = f" All runs asked {comparison.asked}." if comparison.asked else ""
    counted = f"{title_of(metric)}: means over the {n} {of} in all runs.{asked}"
    st.markdown(plain(" ".join(filter(None, [preferred, counted]))))
    delta = shown.delta()
    words = [] if metric == comparison.rule.primary else [f"{title_of(metric)} is exploratory."]
    words.append(comparison_words.rule_words(comparison))
    if delta.verdict == "undecided" and (alone := delta.difference.alone) is not None:
        words.append("Not corrected for the other comparisons: [{:+.2f}, {:+.2f}].".format(*alone))
    st.caption(plain(" ".join(words)))
    if notes := comparison.notes:
        st.warning(plain(notes[0]) if len(notes) == 1 else _listed(notes))


def _listed(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {plain(each)}" for each in sentences)


def leaderboard(shown: Compared) -> None:
    """Draw the runs, the best on top, with brackets around those that cannot be told apart."""
    comparison, metric, pairs = shown.comparison, shown.metric, all_pairs(shown)
    heading.section(plain(f"Leaderboard by {title_of(metric)}"))
    notes = ["baseline", MARKS[shown.delta().verdict]] if len(comparison.runs) == 2 else []
    x_title = f"{title_of(metric)}{scale_of(metric)}, 95 % intervals"
    drawn, joined = comparison_pictures.leaderboard(comparison, metric, pairs, notes, x_title=x_title)
    figure.draw(drawn, "leaderboard")
    apart = "No bracket: every pair of runs is apart."
    bracket = "A bracket joins runs of which no pair is better or worse by the rule." if joined else apart
    ranks = " Ranks are those that the pairs do not exclude." if len(comparison.runs) > 2 else ""
    st.caption(plain(f"{bracket} ◆ and the dotted line: the baseline, {comparison.runs[0]}.{ranks}"))


def differences(shown: Compared) -> None:
    """Draw the difference of each run from the baseline, and where differences are too small to matter."""
    comparison, metric = shown.comparison, shown.metric
    heading.section(plain(f"Difference from {distinct(comparison.runs, 40)[0]}"))
    short, margin = short_names(comparison.runs, 28), comparison.rule.margin(metric)
    rows = [(short[delta.run], delta.difference, delta.verdict) for delta in comparison.rows[metric].deltas]
    title = f"Difference in {title_of(metric)}, 95 % intervals"
    figure.draw(difference_plots.differences(rows, x_title=title, margin=margin), "differences")
    st.caption(
        f"▲ better, ▼ worse, ■ equivalent, ○ undecided. Grey band: differences within ±{margin:g} are too small to "
        "matter; an interval within it is equivalent."
    )


# Tables


def _delta_cells(delta: Delta) -> dict[str, str]:
    difference = delta.difference
    return {
        "Difference [95 % CI]": comparison_words.difference_words(difference),
        "Verdict": MARKS[delta.verdict],
        "p (adjusted)": comparison_words.p_words(delta.p_adjusted),
        "Won · tied · lost": f"{difference.wins} · {difference.ties} · {difference.losses}",
    }


def pairs_table(shown: Compared) -> None:
    """Draw every pair of runs in the chosen metric; a click chooses the pair."""
    found, short = all_pairs(shown), short_names(shown.comparison.runs, 15)
    above = table.row_above("pairs", title=plain(f"All pairs by {title_of(shown.metric)}"))
    table.draw(
        pd.DataFrame(
            {"Run": short[pair.delta.run], "Against": short[pair.baseline], **_delta_cells(pair.delta)}
            for pair in found
        ),
        "pairs", alt="All pairs of the compared runs", above=above, file="pairs", most=8, among=found,
        columns={"Run": 115, "Against": 115, "Difference [95 % CI]": 135, "Verdict": 95, "p (adjusted)": 80,
                 "Won · tied · lost": 105},
        opened=lambda pair: address.put(**pair_parameters(shown.runs, pair.baseline, pair.delta.run)),
    )  # fmt: skip
    st.caption(
        "Pairs with the baseline are those of the verdict; the p-values of the others are corrected over all pairs "
        "(Holm). A click makes a pair the one compared below."
    )


def settings_table(comparison: Comparison) -> None:
    """Draw what differs in the configurations, and nothing that does not."""
    heading.section("Configuration differences")
    if not comparison.settings:
        st.caption("None: the runs have the same configuration.")
        return
    titles = [differing.title(each.key) for each in comparison.settings]
    cells = [[differing.value_words(each.key, value) for value in each.values] for each in comparison.settings]
    names = distinct(comparison.runs, 26)
    rows = pd.DataFrame({"Setting": titles} | dict(zip(names, zip(*cells, strict=True), strict=True)))
    columns = {"Setting": table.text(150, pinned=True)}
    table.draw(rows, "settings", columns=columns, alt="Configuration differences")


def metrics_table(shown: Compared, measured: Mapping[str, MetricRow], name: str) -> None:
    """Draw the means and differences of a pair in every metric of rankings ("comparison") or of "answers"."""
    of = "Ranking" if name == "comparison" else "Answer"
    pair = " minus ".join(distinct((shown.other, shown.comparison.runs[0]), 40))
    heading.section(plain(f"{of} metrics: {pair}"))
    cells: list[dict[str, object]] = []
    for metric, row in measured.items():
        means = zip(shown.comparison.runs, row.estimates, strict=True)
        own = {run: estimate.mean for run, estimate in means if run in shown.names}
        delta = shown.delta(metric)
        more = {"Verdict": delta.verdict, "n": delta.difference.n}
        cells.append({"Metric": title_of(metric), **own, **_delta_cells(delta), **more})
    rows = pd.DataFrame(cells)
    columns = {name: table.number(74, "%.3f", label=short) for name, short in short_names(shown.names, 13).items()}
    columns |= {"Metric": 112, "Difference [95 % CI]": 134, "Verdict": 74, "Won · tied · lost": 92, "n": 33}
    columns["p (adjusted)"] = table.text(54, label="p (adj.)")
    table.draw(
        rows, f"{name}-metrics", alt="Metrics of the compared runs", above=wording.counted(len(rows), "metric"),
        file=name, columns=columns,
    )  # fmt: skip
    for row in measured.values():
        deltas = tuple(each for each in row.deltas if each.run == shown.other)
        for words in comparison_words.missing_words(replace(row, deltas=deltas), shown.comparison.runs[0]):
            st.caption(plain(words))


# Pictures over k, and of what the runs take


def curves(shown: Compared) -> None:
    """Draw precision, recall and F1 against k: overlaid, or a panel for each run from four on, one metric at a time."""
    comparison = shown.comparison
    n, names = len(comparison.question_ids), shown.labels
    bands = cache.compared_curves(shown.of, comparison.k)
    heading.section("Precision, recall and F1 against k")
    in_panels = len(names) > small_multiples.OVERLAID
    drawn = (
        [address.choose_one("Curve", {name: METRICS[name].name for name in CURVES}, "curve")] if in_panels else CURVES
    )
    with st.grid(len(drawn), min_column_width=300):
        for name in drawn:
            with st.container(), notices.errors_shown():
                title = f"{METRICS[name].name} (0 to 1)"
                lines = [curve_plots.Curve(run, *band[name], n) for run, band in zip(names, bands, strict=True)]
                figure.draw(small_multiples.curves(lines, k=comparison.k, y_title=title), f"curves-{name}")
    if in_panels:
        st.caption(f"Bands are 95 % intervals; dotted in each panel: the baseline, {plain(comparison.runs[0])}.")


def histograms(shown: Compared) -> None:
    """Draw the questions by the rank of their evidence: overlaid, or a panel for each run from four on."""
    comparison = shown.comparison
    heading.section("Rank histograms")
    runs = [curve_plots.Ranks(run, ranks) for run, ranks in zip(shown.labels, comparison.ranks, strict=True)]
    figure.draw(small_multiples.histograms(runs, depth=comparison.depth, k=comparison.k), "histograms")


def recall_by_tokens(shown: Compared) -> None:
    """Draw recall against the tokens read, which is fair between chunk sizes."""
    comparison, k = shown.comparison, shown.comparison.k
    heading.section("Recall against tokens read")
    bands, common = cache.compared_curves(shown.of, k), _in_common(shown)
    lines, unknown = [], []
    for place, (run, name) in enumerate(zip(shown.runs, shown.labels, strict=True)):
        tokens = common[run.name].tokens
        if tokens is None or not tokens[0] > 0:
            unknown.append(run.name)
        else:
            parts = [each[: comparison.depth] for each in (tokens, *bands[place]["recall"])]
            lines.append(expense_plots.Reading(name, place, *parts))
    if lines:
        figure.draw(expense_plots.recall_by_tokens(lines, k=k), "tokens")
    if unknown:
        reasons = "nothing is ranked, or its index was cut anew, deleted, or is not ours"
        st.caption(plain(f"Not known for {', '.join(unknown)}: {reasons}."))


def quality_by_expense(shown: Compared) -> None:
    """Draw the metric shown against tokens read, cost or latency, with the Pareto front, and say what is dominated."""
    comparison, metric = shown.comparison, shown.metric
    heading.section(plain(f"{title_of(metric)} against what it takes"))
    prices = _prices(shown)
    telling = leaderboards.telling(prices)
    if not telling:
        st.caption("Tokens read, cost and latency of these runs are the same, as far as they are known.")
        return
    against = address.choose_one("Against", {str(by): AXES[by][0] for by in telling}, "expense")
    by = next(each for each in AXES if each == against)
    title, meaning = AXES[by]
    row, front = comparison.rows[metric], leaderboards.front_by(comparison, metric, prices, by)
    unit = " tokens" if by == "tokens" else ""
    drawn = [
        expense_plots.Point(
            name, place, taken, f"{ties.amount_words(by, taken)}{unit}", row.estimates[place], run in front.runs
        )
        for place, (run, name) in enumerate(zip(comparison.runs, shown.labels, strict=True))
        if run in front.runs or run in front.dominated
        for taken in [getattr(prices[run], by)]
    ]
    figure.draw(expense_plots.quality_by_expense(drawn, x_title=title, y_title=title_of(metric)), "front")
    words = f"{leaderboards.front_words(front)} By means: runs on the front need not be apart. {title}: {meaning}."
    if lacking := [run for run in comparison.runs if getattr(prices[run], by) is None]:
        words += f" Not known of {', '.join(lacking)}."
    st.caption(plain(words))
