"""The answer of the page Compare: the verdict in words, the leaderboard, differences from the baseline, all pairs."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ragviz.analysis import brackets, compare, comparison_words, rules, ties
from ragviz.analysis.compare import Comparison, Delta, Pair
from ragviz.metrics.registry import title_of
from ragviz.report import difference_plots, leaderboard_plots
from ragviz.stats.standings import Standing
from ragviz.text.markup import plain
from ragviz.text.names import distinct, short_names
from ragviz.ui import cache, compare_choices, widgets, wording
from ragviz.ui.compare_choices import Shown
from ragviz.ui.kit import figure, heading, saving, table

MARKS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "equivalent": "≈ equivalent",
    "undecided": "? undecided",
    "equal": "= equal",
}
SHORT = 28
"""Characters of a run's name in a picture."""


@st.cache_data(show_spinner=False, max_entries=64)
def _pairs(of: cache.State, k: int, rule: rules.Rule, metric: str, _comparison: Comparison) -> tuple[Pair, ...]:
    return compare.pairs(_comparison, metric)


@st.cache_data(show_spinner=False, max_entries=64)
def _standings(
    of: cache.State, k: int, rule: rules.Rule, metric: str, _comparison: Comparison, _pairs: Sequence[Pair]
) -> list[Standing]:
    return compare.standings_by(_comparison, metric, _pairs)


def all_pairs(shown: Shown) -> tuple[Pair, ...]:
    """Return every pair of runs in the metric shown."""
    return _pairs(shown.of, shown.comparison.k, shown.comparison.rule, shown.metric, shown.comparison)


def in_words(shown: Shown) -> None:
    """Draw the verdict in the chosen metric, then the headline's other metrics, always with the interval."""
    comparison, metric = shown.comparison, shown.metric
    heading.section(plain(comparison_words.verdict(comparison, metric)))
    others = [name for name in compare.headline(comparison) if name != metric]
    if len(comparison.runs) > 3:  # the verdict counts them: this one is followed below
        others.insert(0, metric)
    st.markdown(_listed([comparison_words.clause(comparison.runs[0], name, shown.delta(name)) for name in others]))
    st.markdown(plain(" ".join(filter(None, [_tie_words(shown), _counted_words(comparison, metric)]))))
    role = "" if metric == comparison.rule.primary else f"{title_of(metric)} is exploratory. "
    st.caption(plain(f"{role}{comparison_words.rule_words(comparison)}{_power_words(shown.delta())}"))
    if notes := comparison.notes:
        st.warning(plain(notes[0]) if len(notes) == 1 else _listed(notes))


def _tie_words(shown: Shown) -> str:
    """Say which of the contenders is preferred, and by what; "" where there is one."""
    tied = brackets.contenders(shown.comparison.runs, all_pairs(shown))
    if len(tied) < 2:
        return ""
    prices = {run.name: cache.price(run, shown.comparison.k) for run in shown.runs}
    return ties.words(tied, ties.broken(tied, prices))


def _power_words(delta: Delta) -> str:
    """Say what an undecided comparison could have shown, as sentences after a blank; "" for others."""
    if delta.verdict != "undecided" or delta.detectable is None:
        return ""
    words = f" These questions detect a true difference of {delta.detectable:.2f} with 80 % power."
    if delta.difference.excludes_0:
        words += (
            " The interval of this difference alone excludes 0, but its p-value, corrected for all tests, does not."
        )
    return words


def _listed(sentences: Sequence[str]) -> str:
    """Write sentences as the items of a list."""
    return "\n".join(f"- {plain(each)}" for each in sentences)


def _counted_words(comparison: Comparison, metric: str) -> str:
    """Say over how many questions the means are: they differ from those of Results where not all are shared."""
    n = comparison.rows[metric].estimates[0].n
    asked = f" All runs asked {comparison.asked}." if comparison.asked else ""
    runs = "both runs" if len(comparison.runs) == 2 else f"all {len(comparison.runs)} runs"
    if metric in comparison.answers:
        return (
            f"{title_of(metric)}: means over the {wording.counted(n, 'question')} scored in {runs}, differences over "
            f"those scored in both of a pair; Results counts every question that its run scored.{asked}"
        )
    return f"{title_of(metric)}: over the {wording.counted(n, 'question')} with evidence in {runs}.{asked}"


def leaderboard(shown: Shown) -> None:
    """Draw the runs, the best on top, with brackets around those that cannot be told apart."""
    comparison, metric = shown.comparison, shown.metric
    heading.section(plain(f"Leaderboard by {title_of(metric)}"))
    estimates, names = comparison.rows[metric].estimates, distinct(comparison.runs, SHORT)
    order = compare.ranking_by(comparison, metric)
    notes = _rank_notes(shown)
    rows = [leaderboard_plots.Row(names[place], place, estimates[place], notes[place]) for place in order]
    at = {comparison.runs[place]: row for row, place in enumerate(order)}
    pairs = all_pairs(shown)
    groups = brackets.brackets(list(at), pairs)
    joined = [[at[run] for run in group] for group in groups]
    drawn = leaderboard_plots.leaderboard(rows, joined, x_title=f"{title_of(metric)} (0 to 1), 95 % intervals")
    figure.draw(drawn, "leaderboard")
    if words := brackets.apart_words(list(at), pairs):
        st.markdown(plain(words))
    st.caption(plain(_bracket_words(groups, comparison)))


def _rank_notes(shown: Shown) -> list[str]:
    """Return what stands under each run's mean: its verdict of two runs, its ranks of more."""
    comparison = shown.comparison
    if len(comparison.runs) == 2:
        return ["baseline", MARKS[shown.delta().verdict]]
    places = _standings(shown.of, comparison.k, comparison.rule, shown.metric, comparison, all_pairs(shown))
    return [comparison_words.rank_words(each) for each in places]


def _bracket_words(groups: Sequence[Sequence[str]], comparison: Comparison) -> str:
    """Say what brackets, marks and ranks of the leaderboard mean."""
    if groups:
        bracket = (
            "A bracket joins runs (its ticks) that cannot be told apart: no pair of them is better or worse by the rule"
        )
        bracket += (
            ", pairs without the baseline by Holm's correction over all pairs." if len(comparison.runs) > 2 else "."
        )
    else:
        bracket = "No bracket: every pair of runs is apart."
    baseline = f"◆ and the dotted line: the baseline, {comparison.runs[0]}."
    if len(comparison.runs) == 2:
        return f"{bracket} {baseline}"
    return f"{bracket} {baseline} {comparison_words.ranks_meaning(comparison)}"


def differences(shown: Shown) -> None:
    """Draw the difference of each run from the baseline, and where differences are too small to matter."""
    comparison, metric = shown.comparison, shown.metric
    heading.section(plain(f"Difference from {distinct(comparison.runs, 40)[0]}"))
    short = short_names(comparison.runs, SHORT)
    rows = [
        difference_plots.Change(short[d.run], d.difference.mean or 0.0, d.difference.low or 0.0,
                                d.difference.high or 0.0, d.difference.n, d.verdict)
        for d in comparison.rows[metric].deltas
    ]  # fmt: skip
    margin = comparison.rule.margin(metric)
    title = f"Difference in {title_of(metric)}, 95 % intervals"
    figure.draw(difference_plots.differences(rows, x_title=title, margin=margin), "differences")
    st.caption(
        f"▲ better, ▼ worse, ■ equivalent, ○ undecided. Grey band: differences within ±{margin:g} are too small to "
        "matter; an interval within it is equivalent."
    )


def pairs_table(shown: Shown) -> None:
    """Draw every pair of runs in the chosen metric; a click chooses the pair."""
    found, comparison = all_pairs(shown), shown.comparison
    short = short_names(comparison.runs, 20)
    rows = pd.DataFrame(
        {
            "Run": short[pair.delta.run],
            "Against": short[pair.baseline],
            "Difference [95 % CI]": comparison_words.difference_words(pair.delta.difference),
            "Verdict": MARKS[pair.delta.verdict],
            "p (adjusted)": comparison_words.p_words(pair.delta.p_adjusted),
            "Won · tied · lost": won_words(pair.delta),
        }
        for pair in found
    )
    with widgets.above_table("pairs"):
        heading.section(plain(f"All pairs by {title_of(shown.metric)}"))
        saving.button(rows, "pairs", "pairs-csv")

    def opened() -> None:
        if (pair := table.selected(st.session_state["pairs"], found)) is not None:
            compare_choices.choose_pair(shown.runs, pair.baseline, pair.delta.run)

    text = st.column_config.TextColumn
    columns: dict[str, object] = {
        "Run": text(width=115),
        "Against": text(width=115),
        "Difference [95 % CI]": text(width=135),
        "Verdict": text(width=95),
        "p (adjusted)": text(width=80),
        "Won · tied · lost": text(width=105),
    }
    height = widgets.height_of(len(rows), 8)
    widgets.table(rows, "pairs", columns=columns, on_select=opened, height=height, alt="All pairs of the compared runs")
    st.caption(
        "Pairs with the baseline are those of the verdict; the p-values of the others are corrected over all pairs "
        "(Holm). A click makes a pair the one compared below."
    )


def won_words(delta: Delta) -> str:
    """Return how many questions were won, tied and lost, as a cell shows it."""
    return f"{delta.difference.wins} · {delta.difference.ties} · {delta.difference.losses}"
