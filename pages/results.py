import io
import shlex
import zipfile
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from ragviz import jobs, stats
from ragviz.analysis import diagnose
from ragviz.analysis.evaluate import Scored, Slice, Summary
from ragviz.answers import contexts
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.metrics.registry import METRICS, label, shown_in
from ragviz.records import Estimate, Question, Retrieved, Run
from ragviz.report import curve_plots, plots, rank_plots
from ragviz.runs import choices, exports, judgements, measurements
from ragviz.text.markup import highlighted, legend, plain
from ragviz.ui import address, budget, cache, frame, heading, job_panel, passages, question_table, widgets, wording

ANCHOR = "questions-shown"
LOOK_AT = 5  # questions whose scores are contradicted that are shown
MISSES_EXPLAINED = (
    "Questions with no gold chunk anywhere in the ranking. A larger k does not help: change the chunking, the embedder "
    "or the retriever."
)

workspace = frame.begin()
store = workspace.store


# The answer


def tiles(summary: Summary) -> None:
    mean, low, high = (float(part[0]) for part in summary.curves["precision"])
    first = Estimate(mean, low, high, summary.n)
    missed = stats.bootstrap(summary.ranks == 0)
    note = f"{missed.mean:.0%} [{missed.low:.0%}, {missed.high:.0%}] of {summary.n}"
    with widgets.tiles():
        recall, *others = [name for name in shown_in("tile") if name in METRICS]
        metric_tile(recall, summary)
        widgets.estimate_tile("Precision@1", first, explained=METRICS["precision"].explanation)
        for name in others:
            metric_tile(name, summary)
        widgets.tile("Misses ↓", f"{summary.misses:,}", note, explained=MISSES_EXPLAINED)


def pictures(summary: Summary, key: str) -> None:
    left, right = st.columns(2, gap="medium")
    with left, widgets.errors_shown():
        st.markdown("**Rank histogram**")
        bars = f"bars-{key}"

        def bar_clicked() -> None:
            address.put(rank=question_table.rank_words(widgets.clicked(st.session_state[bars])))

        drawn = rank_plots.rank_histogram(
            ranks_of(summary),
            depth=summary.depth,
            k=summary.k,
            selected=question_table.rank_pair(st.query_params.get("rank"), summary.depth),
        )
        widgets.figure(drawn, bars, on_select=bar_clicked)
        shown_below("rank", len(filtered_rows))
    with right, widgets.errors_shown():
        st.markdown("**Precision, recall and F1 against k**")
        lines = f"lines-{key}"

        def point_clicked() -> None:
            if point := widgets.clicked(st.session_state[lines]):
                address.put(k=point[0])

        widgets.figure(curve_plots.curves(curves_of(summary), k=summary.k), lines, on_select=point_clicked)


def ranks_of(summary: Summary, name: str = "") -> rank_plots.Ranks:
    return rank_plots.Ranks(name, summary.ranks[summary.ranks > 0], summary.misses)


def curves_of(summary: Summary) -> list[curve_plots.Curve]:
    k = np.arange(1, summary.depth + 1)
    return [curve_plots.Curve(METRICS[name].name, k, *summary.curves[name], summary.n) for name in summary.curves]


# Answers


def metric_tile(name: str, summary: Summary) -> None:
    metric, better = METRICS[name], "↑" if METRICS[name].higher_is_better else "↓"
    title = metric.title.replace("@k", f"@{summary.k}")
    widgets.estimate_tile(title, summary.metrics[label(name, summary.k)], explained=metric.explanation, better=better)


def answer_tiles(judgement: judgements.Judgement) -> None:
    names = [name for name in shown_in("tile") if name in judgement.metrics][:4]
    with st.grid(4, min_column_width=185):
        for name in names:
            metric, scored = ANSWER_METRICS[name], judgement.metrics[name]
            arrow = "↑" if metric.higher_is_better else "↓"
            widgets.tile(f"{metric.title} {arrow}", *scored_words(scored), explained=metric.explanation)


def scored_words(scored: Scored) -> tuple[str, str]:
    """Return value and note of a tile; the note also counts the unscored questions."""
    value, note = widgets.estimate_words(scored.estimate)
    return value, note if scored.estimate.n == scored.total else f"{note} of {scored.total:,}"


def answer_line(run: Run, judgement: judgements.Judgement) -> None:
    """Draw coverage with the button that judges again, refusals, and cost."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.markdown(" · ".join(filter(None, [coverage(run, judgement), refusals(run, judgement)])), width="stretch")
        if judgement.failed or (judgement.controls and not judgement.controls.reliable):
            judge_again(run)
    st.caption(plain(judgements.cost_words(judgement)))


def judge_again(run: Run) -> None:
    """Draw the button that judges again what failed, with a budget where a model is asked."""
    dollars = None
    if run.config.model or run.config.judge:
        dollars = budget.field_of_run(run, f"again-{run.id}")
    if st.button(
        "Judge again",
        help="Repeats the failed calls; all calls, when the judge was unreliable and no longer is.",
    ):
        choices.check_budget(workspace, run.config, dollars)
        title = f"Judge again what failed in {run.name}"
        job_panel.watch(jobs.submit(workspace, "rejudge", title, corpus.id, {"run": run.name, "budget": dollars}))
        st.rerun()


def judge_panel(run: Run, judgement: judgements.Judgement) -> None:
    """Draw which judge was used, whether it is reliable, and the scores that its answers contradict."""
    if words := judgements.judge_words(run):
        control_words = (
            f" · {judgement.controls.sentence}" if judgement.controls and judgement.controls.reliable else ""
        )
        st.caption(plain(f"{words}{control_words}"))
    if judgement.controls and not judgement.controls.reliable:
        st.warning(plain(judgement.controls.sentence))
    if not (doubts := judgement.doubts):
        return
    st.markdown("**Contradicted scores**: the words of these answers contradict their scores")
    for doubt in doubts[:LOOK_AT]:
        address.link("inspect", f"{doubt.question} – {doubt.words}", run=run.name, question=doubt.question_id)
    if len(doubts) > LOOK_AT:
        st.caption(
            plain(f"and {len(doubts) - LOOK_AT} more: `ragviz results {shlex.quote(run.name)} --json` lists all")
        )


def coverage(run: Run, judgement: judgements.Judgement) -> str:
    """Return how many questions are scored, from the metric with fewest to that with most, and why others are not."""
    total, failed = len(retrievals), len(judgement.failed)
    failures = [step for evaluated in judgement.evaluated.values() for step in evaluated.failures]
    unanswered = sum("answer" in evaluated.failures for evaluated in judgement.evaluated.values())
    coverage_words = plain(judgements.coverage_words(judgement, total))
    words = [coverage_words or f"**{len(judgement.evaluated) - failed} of {total:,}** answered"]
    if unanswered:
        words.append(f":orange[▲] {wording.counted(unanswered, 'answer')} failed")
    if errors := failed - unanswered:
        words.append(f":orange[▲] {wording.counted(errors, 'judge error')}")
    if missing := total - len(judgement.evaluated):
        words.append(f"{wording.counted(missing, 'question')} not reached")
    return ", ".join(words) if failures or missing else words[0]


def refusals(run: Run, judgement: judgements.Judgement) -> str:
    """Return how many questions were refused, and how many of them correctly."""
    abstention = judgement.abstention
    if not question_table.answers(run) or not (abstention.refused or abstention.unanswerable):
        return ""
    precision = "" if abstention.precision is None else f" (precision {abstention.precision:.2f})"
    recall = "" if abstention.recall is None else f" (recall {abstention.recall:.2f})"
    return (
        f"{abstention.refused:,} refused, {abstention.both} of them correctly{precision}; {abstention.both} of "
        f"{abstention.unanswerable} unanswerable refused{recall}"
    )


def lost_steps(run: Run, judgement: judgements.Judgement, ids: Sequence[str]) -> list[diagnose.Step]:
    """Return the steps of the waterfall; of a run that does not answer, only those up to the ranking."""
    steps = diagnose.waterfall([judgement.causes[i] for i in ids], run.config.context)
    if question_table.answers(run):
        return [s for s in steps if s.count or s.cause != "judge_failed"]
    return [s for s in steps if s.cause not in ("cut_by_budget", "not_answered", "wrong", "judge_failed")]


def waterfall(run: Run, judgement: judgements.Judgement, ids: Sequence[str], key: str) -> None:
    st.markdown("**Failure attribution**" + ("" if question_table.answers(run) else ", retrieval only"))
    steps = lost_steps(run, judgement, ids)
    names, bars = [step.cause for step in steps], f"lost-{key}"

    def bar_clicked() -> None:
        place = widgets.clicked(st.session_state[bars])
        address.put(cause=names[place[0]] if place and names[place[0]] in diagnose.CAUSES else None)

    requested = st.query_params.get("cause")
    selected = names.index(requested) if requested in names else None
    drawn = plots.waterfall([(s.title, s.count, s.left) for s in steps], selected=selected)
    widgets.figure(drawn, bars, on_select=bar_clicked)
    worst = max(steps[1:-1], key=lambda step: step.count)
    name = requested if requested in diagnose.CAUSES else worst.cause if worst.count else "fine"
    cause = diagnose.about(name, run.config.context)
    lead = "" if requested in diagnose.CAUSES or not worst.count else "Most: "
    st.caption(f"{lead}**{cause.title}.** {cause.explanation} *Next:* {cause.next_step}")
    shown_below("cause", len(filtered_rows))


def distributions(run: Run, judgement: judgements.Judgement, key: str) -> None:
    """Draw the distribution of one metric, and completeness against conciseness where both were measured."""
    pairs = ((name, ANSWER_METRICS[name].drawn_against) for name in judgement.scores)
    pair = next((pair for pair in pairs if pair[1] in judgement.scores), None)
    left, right = st.columns(2, gap="medium") if pair else (st.container(), None)
    with left, widgets.errors_shown():
        score_distribution(run, judgement)
    if right is not None and pair is not None:
        with right, widgets.errors_shown():
            completeness_against_conciseness(judgement, pair, key)


def score_distribution(run: Run, judgement: judgements.Judgement) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Score distribution**", width="stretch")
        st.session_state["metric-shown"] = name = question_table.metric_of(run)
        with st.container(width=270):
            st.selectbox(
                "Metric", list(judgement.scores), key="metric-shown", label_visibility="collapsed",
                format_func=lambda name: ANSWER_METRICS[name].title,
                on_change=lambda: address.put(metric=st.session_state["metric-shown"]),
            )  # fmt: skip
    values = np.array([s.value for s in judgement.scores[name].values() if s.value is not None])
    if len(values):
        widgets.figure(plots.score_histogram(values, title=ANSWER_METRICS[name].title), f"spread-{name}")
    else:
        st.markdown("No answer is scored by this metric.")
    without = question_table.without_words(judgement.metrics[name].statuses)
    count = f"{len(values)} of {judgement.metrics[name].total} scored{f', {without}' if without else ''}"
    st.caption(f"{ANSWER_METRICS[name].explanation} {count}.")


def completeness_against_conciseness(judgement: judgements.Judgement, pair: tuple[str, str], key: str) -> None:
    """Each answer by its completeness and conciseness (factual precision); a click opens the question."""
    st.markdown("**Completeness against conciseness**")
    first, second = (judgement.scores[name] for name in pair)
    ids = [i for i in first if i in second and first[i].value is not None and second[i].value is not None]
    points = f"quadrants-{key}"

    def point_clicked() -> None:
        if place := widgets.clicked(st.session_state[points]):
            st.session_state["open-question"] = ids[place[0]]

    x, y = (np.array([scores[i].value for i in ids], dtype=float) for scores in (first, second))
    widgets.figure(plots.quarters(x, y, [retrievals[i][0].text for i in ids]), points, on_select=point_clicked)
    st.caption(
        "Low completeness: evidence was not retrieved, or was ignored. Low conciseness: too much was retrieved or "
        "said. Low on both: the answer is off topic. Click a point to open its question."
    )


# The evidence


def slices_table(run: Run, summary: Summary, key: str) -> None:
    """Draw one metric by kind and by document; a row filters the questions by it."""
    slices = cache.breakdown(run, summary.k)
    labels = {label.split("@")[0]: label for label in slices[0].metrics}
    with widgets.above_table("by-document"):
        st.markdown("**By kind and document**", width="stretch")
        with st.container(width=210):
            name = address.choose(
                "Metric", list(labels), "per", default="recall", label_visibility="collapsed",
                format_func=lambda name: title_of(labels[name]),
            )  # fmt: skip
        shown_slices = [part for part in slices if part.by != "all"]
        rows = slice_rows(shown_slices, labels[name or "recall"])
        widgets.csv_button(rows, f"{run.name}-per-document.csv", "by-document-csv")
    table = f"by-document-{key}"

    def opened() -> None:
        place = widgets.selected(st.session_state[table], [str(place) for place in range(len(shown_slices))])
        part = shown_slices[int(place)] if place else None
        address.put(kind=None, document=None, **({part.by: part.name} if part else {}))

    columns = {
        "Kind or document": st.column_config.TextColumn(width=125),
        "95 % CI": st.column_config.TextColumn(width=88),
        "n": st.column_config.NumberColumn(width=40),
        title_of(labels[name or "recall"]): st.column_config.ProgressColumn(
            min_value=0, max_value=1, format="%.2f", width=100
        ),
    }
    widgets.table(rows, table, columns=columns, on_select=opened, height=320, alt="A metric by kind and document")
    shown_below("kind" if "kind" in st.query_params else "document", len(filtered_rows))


def slice_rows(slices: Sequence[Slice], label: str) -> pd.DataFrame:
    """Return one row a kind or document: its questions and misses, and the mean of a metric with its n."""
    scored = [part.metrics[label] for part in slices]
    rows = pd.DataFrame(
        {
            "Kind or document": [
                question_table.KINDS.get(part.name, part.name) if part.by == "kind" else part.name for part in slices
            ],
            title_of(label): pd.array([each.estimate.mean for each in scored], dtype="Float64"),
            "95 % CI": [widgets.interval_words(each.estimate) for each in scored],
            "n": [each.estimate.n for each in scored],
            "Questions": [part.questions for part in slices],
            "Misses": [part.misses for part in slices],
            "Unscored": [question_table.without_words(each.statuses) for each in scored],
        }
    )
    return rows if any(rows["Unscored"]) else rows.drop(columns="Unscored")


def title_of(label: str) -> str:
    """Return the title of a metric of rankings ("recall@3") or of answers ("completeness")."""
    return ANSWER_METRICS[label].title if label in ANSWER_METRICS else label


def metrics_table(run: Run, summary: Summary) -> None:
    """Draw every metric, over all questions and by kind."""
    whole, *others = (part for part in cache.breakdown(run, summary.k) if part.by != "document")
    kinds = {question_table.KINDS[part.name].capitalize(): part for part in others} if len(others) > 1 else {}
    names = [name for name in whole.metrics if name in ANSWER_METRICS]
    names += [name for name in whole.metrics if name not in ANSWER_METRICS]
    scored = [whole.metrics[name] for name in names]
    rows = pd.DataFrame(
        {
            "Metric": [title_of(name) for name in names],
            "Mean": pd.array([each.estimate.mean for each in scored], dtype="Float64"),
            "95 % CI": [widgets.interval_words(each.estimate) for each in scored],
            "n": [each.estimate.n for each in scored],
        }
        | {title: [mean_words(part.metrics[name]) for name in names] for title, part in kinds.items()}
        | {
            "Unscored": [
                question_table.without_words(each.statuses) if name in ANSWER_METRICS else ""
                for name, each in zip(names, scored, strict=True)
            ],
            "Description": [
                ANSWER_METRICS[name].explanation if name in ANSWER_METRICS else METRICS[name.split("@")[0]].explanation
                for name in names
            ],
        }
    )
    if not any(rows["Unscored"]):
        rows = rows.drop(columns="Unscored")
    with widgets.above_table("metrics"):
        st.markdown(f"**All metrics at k = {summary.k}**", width="stretch")
        widgets.csv_button(rows, f"{run.name}-metrics.csv", "metrics-csv")
    columns = {
        "Mean": st.column_config.ProgressColumn(min_value=0, max_value=1, format="%.3f"),
        "Description": st.column_config.TextColumn(width="large"),
    }
    widgets.table(rows, "metrics", columns=columns, height=320, alt="All metrics")


def mean_words(scored: Scored) -> str:
    """Return a mean with its n, as a cell shows it."""
    mean, n = scored.estimate.mean, scored.estimate.n
    return "–" if mean is None else f"{mean:.2f} (n = {n:,})"


# The questions


def chips(run: Run, count: int) -> None:
    """Draw every active filter, to be removed with a click."""
    filters = {
        name: value for name, value in question_table.filter_parameters().items() if name in question_table.FILTERS
    }
    st.html(f"<span id='{ANCHOR}'></span>")
    if not filters:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"{wording.counted(count, 'question')} with", width="content")
        for name, value in filters.items():
            if st.button(
                f"{name}: {plain(chip_words(run, name, value))}",
                icon=":material/close:",
                key=f"chip-{name}",
                help="Remove this filter",
            ):
                clear(name)
        if len(filters) > 1 and st.button("Clear all", type="tertiary", key="chip-all"):
            clear(*filters)


def chip_words(run: Run, name: str, value: str) -> str:
    """Return the value of a filter as its chip shows it."""
    if name == "kind":
        return question_table.KINDS.get(value, value)
    return diagnose.about(value, run.config.context).title if name == "cause" and value in diagnose.CAUSES else value


def shown_below(name: str, count: int) -> None:
    """Draw a link from a figure that filters to the filtered questions below it."""
    if name in st.query_params:
        st.markdown(f"[{wording.counted(count, 'question')} below ↓](#{ANCHOR})")


def clear(*names: str) -> None:
    """Remove filters; the figures and tables lose their selection."""
    address.put(**dict.fromkeys(names))
    st.session_state["cleared"] = st.session_state.get("cleared", 0) + 1
    st.rerun()


def questions_table(run: Run, rows: pd.DataFrame, total: int, unanswerable: int, key: str) -> None:
    has_answers = question_table.answers(run)
    with widgets.above_table("asked"):
        left_out = f" · {unanswerable} unanswerable are not ranked" if unanswerable and not has_answers else ""
        st.markdown(
            f"**{len(rows)} of {wording.counted(total, 'question')}**, the worst first{left_out}", width="stretch"
        )
        question_filters()
        widgets.csv_button(rows, f"{run.name}-questions.csv", "questions-csv")
    table = f"asked-{key}"

    def opened() -> None:
        question_id = widgets.selected(st.session_state[table], list(rows["Id"]))
        if has_answers:
            st.session_state["open-question"] = question_id
        else:
            address.put(question=question_id)

    widgets.table(
        rows, table, columns=question_columns(run), on_select=opened, height=420, alt="Questions, the worst first",
        empty="–",
    )  # fmt: skip


def question_filters() -> None:
    """Draw the filters by outcome and by words."""
    outcome = address.first_of((st.query_params.get("outcome"),), question_table.OUTCOMES)
    st.session_state["outcome-filter"] = outcome
    st.segmented_control(
        "Outcome", question_table.OUTCOMES, key="outcome-filter", required=True, label_visibility="collapsed",
        on_change=lambda: address.put(outcome=st.session_state["outcome-filter"]),
    )  # fmt: skip
    st.session_state["find-filter"] = st.query_params.get("find", "")
    with st.container(width=220):
        st.text_input(
            "Find", key="find-filter", placeholder="Find in questions", label_visibility="collapsed",
            on_change=lambda: address.put(find=st.session_state["find-filter"] or None),
        )  # fmt: skip


def question_columns(run: Run) -> dict[str, object]:
    columns: dict[str, object] = {
        "Answer": st.column_config.TextColumn(width=85),
        "Cause": st.column_config.TextColumn(width=140),
        "Rank": st.column_config.NumberColumn(help="Of the first gold chunk; empty when missed.", width="small"),
        "Question": st.column_config.TextColumn(width="large"),
        "Document": st.column_config.TextColumn(width="medium"),
        f"Recall@{int(st.session_state['k-shown'])}": st.column_config.ProgressColumn(
            min_value=0, max_value=1, format="%.2f"
        ),
    }
    if question_table.answers(run) and (metric := question_table.metric_of(run)):
        title = ANSWER_METRICS[metric].title
        columns[title] = st.column_config.ProgressColumn(min_value=0, max_value=1, format="%.2f", width=130)
    return columns


# One question


def opened_question(
    run: Run, question: Question, retrieved: Retrieved, summary: Summary, shown_ids: Sequence[str]
) -> None:
    crumbs = [*heading.crumbs_of(run, corpus), ("results", run.name, {"run": run.name, "k": str(summary.k)})]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="stretch"):
            heading.breadcrumb(crumbs)
        if next_question := question_table.walk(shown_ids, question.id):
            address.put(question=next_question)
            st.rerun()
        if st.button("All questions", shortcut="esc"):
            clear("question", "view")
    heading.header(question.text)
    row = summary.question_ids.index(question.id) if question.id in summary.question_ids else None
    if row is not None:
        numbers(summary, row)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown("**Answer**")
        st.html(highlighted(question.answer or "(no answer given)", language=question.language))
        if question.evidence:
            st.html(legend([("gold", "evidence"), ("hit", f"in the first {summary.k} chunks")]))
            passages.evidence_groups(run.corpus_id, question, retrieved, k=summary.k)
        else:
            st.caption("Unanswerable: the documents hold no evidence for it, so there is nothing to retrieve.")
        if question_table.answers(run):
            address.link(
                "inspect",
                "Answer and judgement",
                run=run.name,
                question=question.id,
                **question_table.filter_parameters(),
            )
        st.caption(f"{question.kind} · generator {plain(question.generator)} · id {plain(question.id)}")
    with right:
        st.markdown(f"**Ranking** by {run.config.retriever}")
        st.html(legend([("gold", "evidence")]))
        passages.ranked_chunks(run.corpus_id, question, retrieved, k=summary.k, first=max(summary.k + 2, 5), key=run.id)
    heading.scroll_to_top(question.id)


def numbers(summary: Summary, row: int) -> None:
    rank, k = int(summary.ranks[row]), summary.k
    with widgets.tiles():
        widgets.tile("Rank of the target ↓", f"{rank}" if rank else "missed", f"among the first {summary.depth}")
        for name in (f"recall@{k}", f"precision@{k}", f"ndcg@{k}"):
            metric = METRICS[name.split("@")[0]]
            title, explained = metric.title.replace("@k", f"@{k}"), metric.explanation
            widgets.tile(f"{title} ↑", f"{summary.scores[name][row]:.2f}", "0 to 1", explained=explained)


# The page


def downloads(run: Run) -> None:
    """Draw the downloads of a run's files, one by one or together."""
    with st.popover("Download"):
        for name in ("results.csv", "results.jsonl", "dataset.csv", "answers.csv", "evaluation.csv", "metrics.csv"):
            st.download_button(
                name, lambda name=name: exports.export_run(workspace, run)[name], f"{run.name}-{name}", "text/csv",
                key=f"download-{name}", on_click="ignore",
            )  # fmt: skip
        st.download_button(
            "All files (zip)", lambda: zipped(run), f"{run.name}.zip", "application/zip", on_click="ignore"
        )


def zipped(run: Run) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in exports.export_run(workspace, run).items():
            archive.writestr(name, data)
    return buffer.getvalue()


def settings_line(run: Run) -> str:
    config, cut = run.config, run.provenance["index_config"]
    by = f" · answers: {config.model or config.answerer}" if question_table.answers(run) else ""
    by += f" from {contexts.CONTEXTS[config.context]}" if by and config.context != "retrieved" else ""
    over = (
        f"{config.retriever} over {wording.chunking(cut)}, overlap {cut['overlap']}, "
        f"{cut['embedder'] or 'no embedder'}, {cut['backend']}"
        if cut
        else "Imported: retrieved and judged elsewhere"
    )
    return f"{over} · questions {run.provenance['questions']} · depth {config.depth}{by} · {wording.ago(run.created)}"


corpus = frame.need_corpus()
all_runs = store.runs(corpus.id)
runs = [run for run in all_runs if run.status == "done"]
requested_run = st.query_params.get("run")
if requested_run in {run.name for run in all_runs} - {run.name for run in runs}:
    heading.header("Results", f"Run {requested_run}")
    with widgets.nothing(f"Run {plain(requested_run)} is not finished yet."):
        address.link("run", "See its progress, or resume it")
    st.stop()
if not runs:
    heading.header("Results", "Retrieval and answer quality of a run.")
    with widgets.nothing(f"No run of {plain(corpus.name)} is done yet."):
        address.link("run", "Make a run")
    st.stop()
name = address.chosen("run", [run.name for run in runs], noun="run")
run = next(run for run in runs if run.name == name)
k = address.chosen_number("k", 1, run.config.depth, run.config.k)
st.session_state["k-shown"] = k
summary = cache.summary(run, k)
retrievals = cache.retrievals(run)
judgement = cache.judgement(run)
rows = question_table.question_rows(run, k) if summary.n or question_table.answers(run) else pd.DataFrame()
filtered_rows = question_table.filtered(run, rows) if len(rows) else rows
key = f"{run.id}-{st.session_state.get('cleared', 0)}"
if opened := st.session_state.pop("open-question", None):
    address.go_to("inspect", run=run.name, question=opened, k=k, **question_table.filter_parameters())
question_id = st.query_params.get("question")
whole_ranking = address.readable("view", address.one_of(("ranking",)), "ranking, or left out")
ranking_only = not question_table.answers(run) or whole_ranking is not None  # else the inspector shows it
if question_id in retrievals and ranking_only:
    opened_question(run, *retrievals[question_id], summary, list(filtered_rows["Id"]) if len(filtered_rows) else [])
    st.stop()
if question_id and question_id not in retrievals:
    st.warning(f"This run did not ask the question “{wording.quoted(question_id)}”.")
with heading.header("Results", settings_line(run), crumbs=heading.crumbs_of(run, corpus)):
    with st.container(width=240):
        address.choose("Run", [run.name for run in runs], "run")
    with st.container(width=110):
        st.number_input(
            "k", 1, run.config.depth, key="k-shown", help="Chunks used. Another k needs no new run.",
            on_change=lambda: address.put(k=st.session_state["k-shown"]),
        )  # fmt: skip
    downloads(run)
if not len(rows):
    st.markdown("None of the questions of this run has evidence, so there are no ranking metrics.")
    st.stop()
if summary.n:
    with widgets.errors_shown():
        tiles(summary)
if judgement.evaluated:
    with widgets.errors_shown():
        answer_tiles(judgement)
        answer_line(run, judgement)
        judge_panel(run, judgement)
elif judgement.paid[0]:
    st.caption(plain(judgements.cost_words(judgement)))
if unranked := measurements.unranked_words(run):
    st.caption(unranked)
if summary.n:
    pictures(summary, key)
left, right = (st.container(), st.container()) if unranked else st.columns(2, gap="medium")
if not unranked:
    with left, widgets.errors_shown():
        slices_table(run, summary, key)
with right, widgets.errors_shown():
    waterfall(run, judgement, list(rows["Id"]), key)
if judgement.scores:
    distributions(run, judgement, key)
with widgets.errors_shown():
    metrics_table(run, summary)
chips(run, len(filtered_rows))
questions_table(run, filtered_rows, len(rows), summary.unanswerable, key)
