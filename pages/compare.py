from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from ragviz.analysis import compare, comparison_words, diagnose, rules
from ragviz.analysis.compare import Comparison, Delta
from ragviz.analysis.evaluate import CURVES
from ragviz.metrics import ranking
from ragviz.metrics.registry import METRICS, title_of
from ragviz.records import Run
from ragviz.report import curve_plots, difference_plots, rank_plots
from ragviz.runs import judgements, measurements
from ragviz.stats import intervals
from ragviz.stats.standings import Standing
from ragviz.text.markup import plain
from ragviz.text.names import distinct, short_names
from ragviz.ui import address, both_sides, cache, frame, heading, question_table, widgets, wording
from ragviz.ui.run_table import MOST_COMPARED

SIDES = ("won", "lost", "tied")
MARKS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "equivalent": "≈ equivalent",
    "undecided": "? undecided",
    "equal": "= equal",
}

workspace = frame.begin()
store = workspace.store


# Choosing


def chosen_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs of the address, the first of which is the baseline; by default the run last seen and another one."""
    by_name = {run.name: run for run in runs}
    known = [run.name for run in both_sides.requested_runs(runs)]
    emptied = st.query_params.get("runs") == ""  # by a person
    st.session_state["runs-shown"] = known or ([] if emptied else default_names(runs, address.last_value("run")))
    names = st.multiselect(
        "Runs", [run.name for run in runs], key="runs-shown", max_selections=MOST_COMPARED,
        on_change=lambda: address.put(runs=written(st.session_state["runs-shown"], by_name), question=None),
    )  # fmt: skip
    address.settle("runs", written(names, by_name) or None)
    return [by_name[name] for name in names]


def default_names(runs: Sequence[Run], seen: str | None) -> list[str]:
    """The run `seen` last, else the newest, and the newest other one on the same questions; the older one first.

    `runs` come with the newest first.
    """
    if not runs:
        return []
    shown = next((run for run in runs if run.name == seen), runs[0])
    asked = (shown.config.questions, shown.config.split)
    other = next((run for run in runs if run != shown and (run.config.questions, run.config.split) == asked), None)
    return [run.name for run in reversed(runs) if run in (shown, other)]


def written(names: Sequence[str], by_name: Mapping[str, Run]) -> str:
    """The names separated by commas; a run with a comma in its name is written by its id."""
    return ",".join(by_name[name].id if "," in name else name for name in names)


def choose_pair(runs: Sequence[Run], baseline: str, other: str) -> None:
    """Put a pair into the address: the baseline is the first of the runs."""
    names = [baseline, *(run.name for run in runs if run.name != baseline)]
    address.put(runs=written(names, {run.name: run for run in runs}), other=other)


def choose_baseline(runs: Sequence[Run]) -> None:
    st.session_state["baseline"] = runs[0].name
    names = [run.name for run in runs]
    st.selectbox(
        "Baseline", names, key="baseline", format_func=short_names(names, 40).__getitem__,
        on_change=lambda: choose_pair(runs, st.session_state["baseline"], runs[0].name),
    )  # fmt: skip


def choose_k(runs: Sequence[Run]) -> int:
    depth = min((run.config.depth for run in runs), default=1)
    k = address.chosen_number("k", 1, depth, runs[0].config.k if runs else 1)
    st.session_state["k-compared"] = k
    st.number_input("k", 1, depth, key="k-compared", on_change=lambda: address.put(k=st.session_state["k-compared"]))
    return k


def choose_other(comparison: Comparison) -> str:
    """The run that is compared with the baseline in detail."""
    others = comparison.runs[1:]
    if len(others) == 1:
        return address.readable("other", address.one_of(others), "a run that is compared with the first") or others[0]
    short = short_names(comparison.runs, 40)
    shown = address.choose("Compared with it", others, "other", format_func=short.__getitem__)
    return shown or others[0]


def choose_rule(comparison: Comparison) -> Comparison:
    """The comparison by the rule of the address: the metric that decides, and the smallest difference that matters."""
    effect = address.readable("effect", share, "a share from 0.001 to 0.5, as 0.02")
    names = list(comparison.rows)
    primary = address.readable("primary", address.one_of(names), f"one of {', '.join(names)}") or ""
    ruled = compare.with_rule(comparison, primary, effect) if primary or effect else comparison
    st.session_state["primary-chosen"], st.session_state["effect-chosen"] = (
        ruled.rule.primary,
        ruled.rule.minimum_effect,
    )
    with st.popover("Rule", icon=":material/gavel:", width="stretch"):
        st.selectbox(
            "Primary metric", names, key="primary-chosen", format_func=title_of,
            on_change=lambda: address.put(primary=st.session_state["primary-chosen"], metric=None),
            help="The one metric that decides. All others are exploratory. Name it before you see a result.",
        )  # fmt: skip
        st.number_input(
            "Smallest difference that matters", 0.001, 0.5, step=0.01, format="%.3f", key="effect-chosen",
            on_change=lambda: address.put(effect=f"{st.session_state['effect-chosen']:g}"),
            help="As a share of the metric's range. Runs that are closer than this are equivalent.",
        )  # fmt: skip
    return ruled


def share(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.001 <= value <= 0.5 else None


def choose_metric(comparison: Comparison) -> str:
    default = comparison.rule.primary
    names = list(comparison.rows)
    return address.choose("Metric", names, "metric", default=default, format_func=title_of) or default


@st.cache_data(show_spinner=False, max_entries=32)
def bands(of: cache.State, k: int, name: str) -> list[curve_plots.Curve]:
    comparison = cache.comparison(of, k)
    ks, n = np.arange(1, comparison.depth + 1), len(comparison.question_ids)
    curves = []
    for run, table in zip(distinct(comparison.runs, 28), comparison.tables, strict=True):
        mean, low, high = intervals.bands(CURVES[name](table), comparison.clusters)
        curves.append(curve_plots.Curve(run, ks, mean, low, high, n))  # type: ignore[arg-type]
    return curves


@st.cache_data(show_spinner=False, max_entries=64)
def all_pairs(
    of: cache.State, k: int, rule: rules.Rule, metric: str, _comparison: Comparison
) -> tuple[compare.Pair, ...]:
    return compare.pairs(_comparison, metric)


@st.cache_data(show_spinner=False, max_entries=64)
def standings(of: cache.State, k: int, metric: str) -> list[Standing]:
    return compare.standings_by(cache.comparison(of, k), metric)


# The answer


def section(words: str) -> None:
    heading.section(plain(words))


def in_words(comparison: Comparison, metric: str, other: str) -> None:
    """The verdict in the chosen metric, then the headline's other metrics, always with the interval."""
    section(comparison_words.sentence(comparison, [metric]))
    chosen_delta = delta_of(comparison, metric, other)
    others = [name for name in compare.headline(comparison) if name != metric]
    clauses = [comparison_words.clause(comparison.runs[0], name, delta_of(comparison, name, other)) for name in others]
    st.markdown(listed(clauses))
    st.markdown(plain(counted_words(comparison, metric)))
    role = "" if metric == comparison.rule.primary else f"{title_of(metric)} is exploratory. "
    st.caption(plain(f"{role}{comparison_words.rule_words(comparison)}{power_words(chosen_delta)}"))
    if notes := comparison.notes:
        st.warning(plain(notes[0]) if len(notes) == 1 else listed(notes))


def power_words(delta: Delta) -> str:
    """What an undecided comparison could have shown, as sentences after a blank; "" for others."""
    if delta.verdict != "undecided" or delta.detectable is None:
        return ""
    words = f" These questions detect a true difference of {delta.detectable:.2f} with 80 % power."
    if stands_alone(delta):
        words += (
            " The interval of this difference alone excludes 0, but its p-value, corrected for all tests, does not."
        )
    return words


def listed(sentences: Sequence[str]) -> str:
    """Sentences as the items of a list."""
    return "\n".join(f"- {plain(each)}" for each in sentences)


def counted_words(comparison: Comparison, metric: str) -> str:
    """Over how many questions the means of a metric are: they differ from those of Results where not all are shared."""
    n = comparison.rows[metric].deltas[0].difference.n
    asked = f" All runs asked {comparison.asked}." if comparison.asked else ""
    runs = "both runs" if len(comparison.runs) == 2 else f"all {len(comparison.runs)} runs"
    if metric in comparison.answers:
        return (
            f"{title_of(metric)}: over the {wording.counted(n, 'question')} scored in {runs}; Results counts every "
            f"question that its run scored.{asked}"
        )
    return f"{title_of(metric)}: over the {wording.counted(n, 'question')} with evidence in {runs}.{asked}"


def stands_alone(delta: Delta) -> bool:
    """Whether the interval of a difference excludes 0, whatever the correction over all tests says."""
    low, high = delta.difference.low, delta.difference.high
    return low is not None and high is not None and (low > 0 or high < 0)


def delta_of(comparison: Comparison, metric: str, other: str) -> Delta:
    return next(delta for delta in comparison.rows[metric].deltas if delta.run == other)


def leaderboard(comparison: Comparison, metric: str, of: cache.State) -> None:
    section(f"Leaderboard by {title_of(metric)}")
    row = comparison.rows[metric]
    verdicts = ["baseline", *(MARKS[delta.verdict] for delta in row.deltas)]
    verdicts = [f"n = {estimate.n:,} · {said}" for estimate, said in zip(row.estimates, verdicts, strict=True)]
    rows = list(zip(distinct(comparison.runs, 28), row.estimates, strict=True))
    title = f"{title_of(metric)} (0 to 1)"
    widgets.figure(difference_plots.forest(rows, x_title=title, baseline=0, notes=verdicts), "leaderboard")
    places = [comparison_words.standing_words(each) for each in standings(of, comparison.k, metric)]
    if places:
        each = zip(distinct(comparison.runs, 28), places, strict=True)
        ranks = [f"{run} {rank}{f' (best in {often} of resamples)' if often else ''}" for run, (rank, often) in each]
        st.caption(plain(f"Ranks that cannot be excluded, 95 % for all together: {'; '.join(ranks)}."))


@st.cache_data(show_spinner=False, max_entries=32)
def stage_counts(of: cache.State, k: int) -> tuple[bool, list[Counter[str]]]:
    """How many of the common questions each run lost at each stage, and whether the stages tell of answers.

    They do when those of all runs do; else the stages of all runs end with the ranking, of questions with evidence.
    """
    runs = [store.run(run_id) for run_id in of.ids]
    shared, answered = both_sides.shared_questions(runs), all(judgements.answered_at(run, k) for run in runs)
    causes = [cache.causes(run, k) if answered else ranking_causes(run, k) for run in runs]
    counted = [i for i in shared if all(each.get(i) for each in causes)]
    return answered, [Counter(each[i] for i in counted) for each in causes]


def ranking_causes(run: Run, k: int) -> dict[str, str]:
    """The causes of a run up to its ranking, of the questions with evidence; none where its ranking is not known."""
    if measurements.unranked_words(run):
        return {}
    questions, retrieved = cache.questions(run), cache.retrieved(run)
    ids = [question_id for question_id, question in questions.items() if question.evidence]
    return diagnose.attribute_failures([questions[i] for i in ids], [retrieved[i] for i in ids], k)


def stages_table(comparison: Comparison, runs: Sequence[Run], of: cache.State) -> None:
    """How many of the common questions each run lost at which stage."""
    answered, counts = stage_counts(of, comparison.k)
    if not (total := counts[0].total()):
        return
    depth = comparison.depth if len({run.config.depth for run in runs}) == 1 else 0
    kind = runs[0].config.context if len({run.config.context for run in runs}) == 1 else "retrieved"
    names = distinct(comparison.runs, 13)
    present = [cause for cause in diagnose.CAUSES if cause == "fine" or any(count[cause] for count in counts)]
    titles = [diagnose.about(c, kind, k=comparison.k, depth=depth, answered=answered).title for c in present]
    rows = pd.DataFrame({"Stage": titles} | {n: [c[s] for s in present] for n, c in zip(names, counts, strict=True)})
    if len(runs) == 2:
        rows["Change"] = [counts[1][cause] - counts[0][cause] for cause in present]
    section(f"Where questions are lost at k = {comparison.k}{'' if answered else ', retrieval only'}")
    right = " → ".join(f"{count['fine']:,}" for count in counts)
    said = "answered correctly" if answered else titles[-1].lower()
    of_all = wording.counted(total, "common question")
    counted = plain(f"Of {of_all}{'' if answered else ' with evidence'}, {said}: {right}.")
    st.markdown(counted.replace(" → ", "\u00a0→\u00a0"))
    columns: dict[str, object] = {name: st.column_config.NumberColumn(width=105) for name in names}
    columns |= {"Stage": st.column_config.TextColumn(width=125)}
    columns |= {"Change": st.column_config.NumberColumn(format="%+d", width=65)}
    widgets.table(rows, "stages", columns=columns, height="content", alt="Questions lost at each stage, by run")


def pairs_table(runs: Sequence[Run], comparison: Comparison, metric: str, of: cache.State) -> None:
    """Every pair of runs in the chosen metric; a click chooses the pair."""
    found = all_pairs(of, comparison.k, comparison.rule, metric, comparison)
    short = short_names([run.name for run in runs], 20)
    rows = pd.DataFrame(
        {
            "Run": short[pair.delta.run],
            "Against": short[pair.baseline],
            "Difference [95 % CI]": comparison_words.difference_words(pair.delta.difference),
            "Verdict": MARKS[pair.delta.verdict],
            "p (Holm)": comparison_words.p_words(pair.delta.p_adjusted),
            "Won · tied · lost": won_words(pair.delta),
        }
        for pair in found
    )
    with widgets.above_table("pairs"):
        section(f"All pairs by {title_of(metric)}")
        widgets.csv_button(rows, "pairs.csv", "pairs-csv")

    def opened() -> None:
        if (pair := widgets.selected(st.session_state["pairs"], found)) is not None:
            choose_pair(runs, pair.baseline, pair.delta.run)

    height = "content" if len(rows) < 8 else 300
    text = st.column_config.TextColumn
    columns: dict[str, object] = {
        "Run": text(width=115),
        "Against": text(width=115),
        "Difference [95 % CI]": text(width=135),
        "Verdict": text(width=95),
        "p (Holm)": text(width=60),
        "Won · tied · lost": text(width=105),
    }
    widgets.table(rows, "pairs", columns=columns, on_select=opened, height=height, alt="All pairs of the compared runs")
    st.caption("p-values are corrected over these pairs (Holm). A click makes a pair the one compared below.")


def won_words(delta: Delta) -> str:
    return f"{delta.difference.wins} · {delta.difference.ties} · {delta.difference.losses}"


# The evidence


def settings_table(comparison: Comparison) -> None:
    section("Configuration differences")
    if not comparison.settings:
        st.caption("None: the runs have the same configuration.")
        return
    names = distinct(comparison.runs, 28)
    rows = pd.DataFrame(
        [[setting.key, *(setting_words(v) for v in setting.values)] for setting in comparison.settings],
        columns=["Setting", *names],
    )
    columns: dict[str, object] = {"Setting": st.column_config.TextColumn(width=150)}
    widgets.table(rows, "settings", columns=columns, height="content", alt="Configuration differences")


def setting_words(value: object) -> str:
    """A setting as a cell shows it; an empty one is a dash."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None or value == "" else str(value)


def metrics_part(comparison: Comparison, measured: Mapping[str, compare.MetricRow], other: str, name: str) -> None:
    """The differences of a pair in every metric of a kind: as a picture, and as a table beside it."""
    kind = "Ranking" if name == "comparison" else "Answer"
    pair = " minus ".join(distinct((other, comparison.runs[0]), 40))
    section(f"{kind} metrics: {pair}")
    with st.container(key=f"beside-{name}"):
        left, right = st.columns([3, 5], gap="medium")
        with left:
            changes = [
                difference_plots.Change(
                    title_of(metric), d.difference.mean or 0.0, d.difference.low or 0.0, d.difference.high or 0.0,
                    d.difference.n, d.verdict,
                )
                for metric in measured
                for d in [delta_of(comparison, metric, other)]
            ]  # fmt: skip
            widgets.figure(difference_plots.differences(changes, x_title="Difference"), f"{name}-differences")
        with right:
            metrics_table(rows_of(comparison, measured, other), name)
            for row in measured.values():
                own = tuple(each for each in row.deltas if each.run == other)
                for words in comparison_words.missing_words(replace(row, deltas=own), comparison.runs[0]):
                    st.caption(plain(words))


def rows_of(comparison: Comparison, measured: Mapping[str, compare.MetricRow], other: str) -> pd.DataFrame:
    """One row a metric: the means of the baseline and of `other`, and their difference."""
    rows, shown = [], (comparison.runs[0], other)
    for name, row in measured.items():
        delta = delta_of(comparison, name, other)
        cells: dict[str, object] = {"Metric": title_of(name)}
        means = zip(comparison.runs, row.estimates, strict=True)
        cells |= {run: estimate.mean for run, estimate in means if run in shown}
        cells |= {
            "Difference [95 % CI]": comparison_words.difference_words(delta.difference),
            "Verdict": delta.verdict,
            "p (adjusted)": comparison_words.p_words(delta.p_adjusted),
            "Won · tied · lost": won_words(delta),
            "n": delta.difference.n,
        }
        rows.append(cells)
    return pd.DataFrame(rows)


def metrics_table(table: pd.DataFrame, name: str) -> None:
    """A table of `rows_of`, with its CSV."""
    with widgets.above_table(name):
        st.markdown(wording.counted(len(table), "metric"), width="stretch")
        widgets.csv_button(table, f"{name}.csv", f"{name}-csv")
    means = [column for column in table.columns if table[column].dtype == float]
    columns: dict[str, object] = {
        column: st.column_config.NumberColumn(short, format="%.3f", width=68)
        for column, short in short_names(means, 10).items()
    }
    columns |= {
        "Metric": st.column_config.TextColumn(width=120),
        "Difference [95 % CI]": st.column_config.TextColumn(width=134),
        "Verdict": st.column_config.TextColumn(width=74),
        "p (adjusted)": st.column_config.TextColumn("p (adj.)", width=54),
        "Won · tied · lost": st.column_config.TextColumn(width=92),
        "n": st.column_config.NumberColumn(width=33),
    }
    widgets.table(table, f"{name}-metrics", columns=columns, height="content", alt="Metrics of the compared runs")


def pictures(comparison: Comparison, of: cache.State) -> None:
    section("Curves")
    with st.grid(len(CURVES), min_column_width=300):
        for name in CURVES:
            with st.container(), widgets.errors_shown():
                lines = bands(of, comparison.k, name)
                title = f"{METRICS[name].name} (0 to 1)"
                drawn = curve_plots.curves(
                    lines, k=comparison.k, by_run=True, labels=False, y_title=title, height=290
                )  # fmt: skip
                widgets.figure(drawn, f"curves-{name}")
    section("Rank histograms")
    runs = []
    for run, table in zip(distinct(comparison.runs, 28), comparison.tables, strict=True):
        ranks = ranking.ranks(table)
        runs.append(rank_plots.Ranks(run, ranks[ranks > 0], int((ranks == 0).sum())))
    widgets.figure(rank_plots.rank_histograms(runs, depth=comparison.depth, k=comparison.k, height=300), "histograms")


# The questions


def cases(comparison: Comparison, runs: Sequence[Run], metric: str, other: str) -> None:
    """Questions won, lost and tied against the baseline; a click opens the case in both runs."""
    pair = (0, comparison.runs.index(other))
    outcomes = compare.outcomes(comparison, metric, pair[1])
    ranks = [ranking.ranks(comparison.tables[place]) for place in pair]
    names = distinct([comparison.runs[place] for place in pair], 24)
    with st.container(key="beside-cases"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            if comparison.metrics:
                rank_scatter(comparison, ranks, other)
            else:
                st.caption("The ranks of these runs are not known.")
        with right:
            with widgets.above_table("cases"):
                said = f"Questions by {title_of(metric)}: {names[1]} against {names[0]}"
                section(said)
                side = side_filter({side: len(getattr(outcomes, side)) for side in SIDES})
            rows = case_rows(comparison, runs, metric, list(getattr(outcomes, side)), pair, ranks)
            cases_table(rows, side)


def rank_scatter(comparison: Comparison, ranks: Sequence[np.ndarray], other: str) -> None:
    section("Rank of each question in both runs")
    names = distinct((comparison.runs[0], other), 32)
    drawn = difference_plots.rank_scatter(np.stack(ranks, axis=1), (names[0], names[1]), depth=comparison.depth)
    widgets.figure(drawn, "scatter")
    st.caption(f"▲ below the line: {plain(other)} ranks the evidence better. A larger mark is more questions.")


def case_rows(
    comparison: Comparison,
    runs: Sequence[Run],
    metric: str,
    ids: Sequence[str],
    pair: tuple[int, int],
    ranks: Sequence[np.ndarray],
) -> pd.DataFrame:
    """A row for each question: its value of the metric and its rank in both runs."""
    paired, questions = comparison.paired(metric), cache.questions(runs[0])
    row_of = {question_id: row for row, question_id in enumerate(paired.question_ids)}
    rank_row = {question_id: row for row, question_id in enumerate(comparison.question_ids)}
    names = distinct([comparison.runs[place] for place in pair], 24)
    cells: dict[str, list[object]] = {"Question": [questions[i].text for i in ids]}
    if metric in comparison.answers:
        cells |= {name: [float(paired.values[p, row_of[i]]) for i in ids] for name, p in zip(names, pair, strict=True)}
    if comparison.metrics:
        cells |= {
            f"Rank {name}": [
                question_table.rank_cell(int(r[rank_row[i]]), comparison.depth) if i in rank_row else "–" for i in ids
            ]
            for name, r in zip(names, ranks, strict=True)
        }
    return pd.DataFrame(cells | {"Id": list(ids)})


def side_filter(counts: Mapping[str, int]) -> str:
    """Choose between won, lost and tied; at first the first of them that has questions."""
    side = address.readable("side", address.one_of(SIDES), f"one of {', '.join(SIDES)}")
    first = next((name for name in SIDES if counts[name]), SIDES[0])
    st.session_state["side-filter"] = side = side or first
    st.segmented_control(
        "Outcome", SIDES, key="side-filter", required=True, label_visibility="collapsed",
        format_func=lambda name: f"{name} {counts[name]}",
        on_change=lambda: address.put(side=st.session_state["side-filter"]),
    )  # fmt: skip
    return side


def cases_table(rows: pd.DataFrame, side: str) -> None:
    def opened() -> None:
        st.session_state["open-case"] = widgets.selected(st.session_state[f"cases-{side}"], list(rows["Id"])), side

    columns: dict[str, object] = {"Question": st.column_config.TextColumn(width=330)}
    columns |= {
        name: st.column_config.NumberColumn(format="%.2f", width=110)
        for name in rows.columns
        if rows[name].dtype == float
    }
    widgets.table(
        rows,
        f"cases-{side}",
        columns=columns,
        on_select=opened,
        height=widgets.height_of(len(rows), 9),
        alt=f"Questions {side}",
    )


corpus = frame.need_corpus()
done = [run for run in store.runs(corpus.id) if run.status == "done"]
heading.header("Compare", "Whether a change really helped.")
if len(done) < 2:
    with widgets.nothing(
        f"Comparing takes two runs on the same questions; {plain(corpus.name)} has {wording.counted(len(done), 'run')}."
    ):
        address.link("run", "Make a run")
    st.stop()
runs = chosen_runs(done)
if len(runs) < 2:
    st.markdown("Choose two runs or more.")
    st.stop()
warnings = st.container()
with st.grid(5 if len(runs) > 2 else 4, min_column_width=140):
    with st.container():
        choose_baseline(runs)
    of_other = st.container() if len(runs) > 2 else warnings
    of_metric = st.container()
    with st.container():
        k = choose_k(runs)
    of_rule = st.container(vertical_alignment="bottom", height="stretch")
of = cache.state(*(run.id for run in runs))
opened_id, opened_side = st.session_state.pop("open-case", None) or (st.query_params.get("question"), None)
if opened_id:  # a case has a page of its own
    kept = {name: st.query_params.get(name) for name in ("metric", "other")}
    shown_runs = written([run.name for run in runs], {run.name: run for run in runs})
    address.go_to("inspect", runs=shown_runs, question=opened_id, k=k, side=opened_side, **kept)
with widgets.errors_shown():
    with of_rule:
        comparison = choose_rule(cache.comparison(of, k))
    with of_other:
        other = choose_other(comparison)
    with of_metric:
        metric = choose_metric(comparison)
    in_words(comparison, metric, other)
    with st.container(key="beside-answer"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            leaderboard(comparison, metric, of)
            if len(runs) == 2:
                with widgets.errors_shown():
                    stages_table(comparison, runs, of)
        with right:
            if len(runs) > 2:
                pairs_table(runs, comparison, metric, of)
                with widgets.errors_shown():
                    stages_table(comparison, runs, of)
            else:
                settings_table(comparison)
    if len(runs) > 2:
        settings_table(comparison)
    if comparison.metrics:
        metrics_part(comparison, comparison.metrics, other, "comparison")
    if comparison.answers:
        with widgets.errors_shown():
            metrics_part(comparison, comparison.answers, other, "answers")
    cases(comparison, runs, metric, other)
    if comparison.metrics:
        pictures(comparison, of)
