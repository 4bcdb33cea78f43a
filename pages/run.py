from collections.abc import Collection
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import streamlit as st

from ragviz.core.configuration import REMOTE, IndexInfo, Run, RunConfig
from ragviz.core.digests import digest
from ragviz.core.errors import RagvizError, UsageError
from ragviz.core.fields import Field, fields_of
from ragviz.core.job import NewJob
from ragviz.core.question_set import QuestionSet
from ragviz.jobs import queue
from ragviz.metrics.answers import ANSWER_METRICS, measured
from ragviz.questions import splits
from ragviz.retrieval import rerankers
from ragviz.retrieval.retrievers import RETRIEVERS, compares_vectors, offered
from ragviz.runs import judgements, running
from ragviz.service import run_verbs
from ragviz.store import stored_calls
from ragviz.targets.targets import TARGETS
from ragviz.text.markup import plain
from ragviz.ui import address, budget, cache, frame, job_panel, presses, wording
from ragviz.ui.kit import form, heading, notices, tiles

FIELDS = fields_of(RunConfig)
DEFAULTS = "Defaults"
"""The preset that is no earlier run."""

workspace = frame.begin()
store, settings = workspace.store, workspace.settings


# The form


def fields_in(*groups: str, without: Collection[str] = ()) -> list[Field]:
    return [field for field in FIELDS.values() if field.group in groups and field.name not in without]


BY_ADDRESS = fields_in("retrieve", "answer")
"""Choices that a link to this page can name."""


def retrieving(indexes: list[IndexInfo], sets: list[QuestionSet], start: RunConfig) -> dict[str, Any]:
    heading.section("Retrieve")
    left, right = st.columns(2)
    with left:
        index_name = address.choose("Index", [i.name for i in indexes], "index")
    with right:
        set_name = address.choose("Question set", [s.name for s in sets], "set")
    index = next(i for i in indexes if i.name == index_name)
    question_set = next(s for s in sets if s.name == set_name)
    side = asked_side(question_set, start)
    names, specs = offered(index.config), rerankers.RERANKERS
    retriever, why = run_verbs.proposed(workspace, index)
    if not start.index and "retriever" not in st.query_params:
        start = replace(start, retriever=retriever)
    possible = [rerankers.NONE, *(name for name in specs if settings.model_configured or not specs[name].asks)]
    first = form.draw(
        fields_in("retrieve", without=("rerank_depth",)),
        asdict(start),
        f"{'-'.join(names)}-{start.hash()}",
        offered={"retriever": names, "reranker": possible},
        more=("depth", "seed"),
    )
    if len(names) < len(RETRIEVERS):
        st.caption("This index was built without an embedder, so it is searched by words only.")
    elif why:
        st.caption(f":orange[▲] {plain(why)}: {retriever} is proposed.")
    kind = rerankers.parsed(first["reranker"])[0]
    same = kind == rerankers.parsed(start.reranker)[0]
    depth = start.rerank_depth if same or kind not in specs else specs[kind].depth
    second = form.draw([FIELDS["rerank_depth"]], first | {"rerank_depth": depth}, f"{kind}-{start.hash()}")
    limit = form.draw([FIELDS["limit"]], asdict(start), f"{question_set.id}-{start.hash()}")
    return {"index": index.id, "questions": question_set.id, "split": side} | first | second | limit


def asked_side(question_set: QuestionSet, start: RunConfig) -> str:
    if question_set.split is None:
        return ""
    side = st.segmented_control(
        FIELDS["split"].label, list(FIELDS["split"].known()), default=start.split, required=True,
        key=f"split-{question_set.id}-{start.hash()}",
        format_func=lambda side: f"{side.capitalize() or 'All'} · {asked_count(question_set, side):,}",
    )  # fmt: skip
    st.caption(FIELDS["split"].known()[side or ""])
    if neither := splits.neither_words(question_set):
        st.caption(f":orange[▲] {neither}")
    return side or ""


def asked_count(question_set: QuestionSet, side: str) -> int:
    """Return how many questions a run of this side asks; "" is all that are not rejected."""
    return question_set.sides.get(side, 0) if side else sum(question_set.sides.values())


def answering(start: RunConfig) -> dict[str, Any]:
    heading.section("Answer")
    possible = [name for name in FIELDS["answerer"].known() if name != "model" or settings.model_configured]
    chosen = form.draw([FIELDS["answerer"]], asdict(start), start.hash(), offered={"answerer": possible})
    if not settings.model_configured:
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.caption("No model is connected.", width="content")
            address.link("settings", "Connect one")
    contexts_offered = list(FIELDS["context"].known())
    if chosen["answerer"] == "extractive":
        contexts_offered.remove("none")
    first = asdict(start) | chosen | {"model": start.model or settings.model}
    suffix = f"{chosen['answerer']}-{start.hash()}"
    rest = fields_in("answer", without=("answerer",))
    folded = ("temperature", "instructions")
    return chosen | form.draw(rest, first, suffix, offered={"context": contexts_offered}, more=folded)


def judging(start: RunConfig, answerer: str, *, pays: bool) -> tuple[dict[str, Any], float | None]:
    heading.section("Judge")
    names = [
        name
        for name, metric in ANSWER_METRICS.items()
        if (settings.model_configured or not metric.judged) and (answerer != "none" or "answer" not in metric.needs)
    ]
    ways = metric_ways(names, answerer)
    how = "none"
    if len(ways) > 1:
        how = st.segmented_control(
            "Metrics", list(ways), default=way_of(start, names, answerer, ways), required=True,
            key=f"metrics-{answerer}-{start.hash()}", label_visibility="collapsed",
            format_func=lambda way: ways[way][0],
        ) or "none"  # fmt: skip
    _, chosen, explained = ways[how]
    if how == "chosen":
        chosen = tuple(st.multiselect(
            "Custom metrics", names, [name for name in measured(start.metrics) if name in names],
            key=f"picked-{answerer}-{start.hash()}", format_func=lambda name: ANSWER_METRICS[name].title,
            placeholder="Choose metrics", label_visibility="collapsed",
        )) or ("none",)  # fmt: skip
    st.caption(explained)
    needs_judge = "all" in chosen or any(n in ANSWER_METRICS and ANSWER_METRICS[n].judged for n in chosen)
    if not needs_judge and answerer != "model" and not pays:
        return {"metrics": chosen}, None
    one, two = st.columns([2, 1])
    judge = ""
    if needs_judge:
        named = start.judge or settings.judge or settings.model
        judge = one.text_input("Judge model", named, max_chars=200, key=f"judge-{start.hash()}")
    with two:
        dollars = budget.field(
            "The run stops before a call that could exceed it, and keeps its results. Raise it to resume.",
            f"budget-{start.hash()}",
        )
    return {"metrics": chosen, "judge": judge.strip()}, dollars


def metric_ways(names: Collection[str], answerer: str) -> dict[str, tuple[str, tuple[str, ...], str]]:
    free = tuple(name for name in names if not ANSWER_METRICS[name].judged)
    ways = {"none": ("None", ("none",), "Only ranking metrics are computed.")}
    if answerer != "none":
        ways["free"] = "Without a model", free, "Lexical and embedding metrics and key phrases: no judge, no cost."
    if settings.model_configured and answerer == "none":
        words = "A judge decides which passages are useful, and which claims of the reference they support."
        ways["all"] = "Context metrics", ("all",), words
    elif settings.model_configured:
        ways["all"] = "All", ("all",), "All metrics are computed from the same few replies of the judge."
    return ways | ({"chosen": ("Custom", (), "")} if len(ways) > 1 else {})


def way_of(start: RunConfig, names: Collection[str], answerer: str, ways: Collection[str]) -> str:
    default = "all" if answerer == "model" else "free" if answerer != "none" else "none"
    if start.answerer != answerer or not start.metrics:
        return default if default in ways else "none"
    asked = set(measured(start.metrics))
    groups = {"all": set(names), "free": {name for name in names if not ANSWER_METRICS[name].judged}}
    return next((way for way, group in groups.items() if way in ways and group == asked), "chosen")


def changed_by_address(start: RunConfig) -> RunConfig:
    """Return the choices of a preset with those that the address names; another reranker has a depth of its own."""
    given = {}
    for field in BY_ADDRESS:
        known = ", ".join(field.known())
        what = f"one of {known}" if known else "a text of usual length" if field.type is str else field.range()
        if (value := address.readable(field.name, partial(read, field), what)) is not None:
            given[field.name] = value
    if "reranker" in given:
        given = {"rerank_depth": rerankers.default_depth(given["reranker"])} | given
    return replace(start, **given)


def read(field: Field, text: str) -> Any:
    try:
        value = field.read(text)
        if field.name == "reranker":
            rerankers.spec_of(value)
    except UsageError:
        return None
    return value


def naming(config: RunConfig) -> str:
    answerer = f"-{config.answerer}" if config.knows.answers else ""
    taken = {run.name for run in store.runs.all()}
    reranker = "" if config.reranker == rerankers.NONE else f"-{rerankers.parsed(config.reranker)[0]}"
    side = f"-{config.split}" if config.split else ""
    made_of = f"{store.indexes.get(config.index).name}-{config.retriever}{reranker}{answerer}{side}"
    suggested = wording.free_name(made_of, taken)
    return form.suggested_name("Name", "run-name", suggested, used_by=presses.key("make-run"))


# The estimate


def cost(config: RunConfig) -> None:
    question_set, index = store.sets.get(config.questions), store.indexes.get(config.index)
    n = asked_count(question_set, config.split)
    n = min(n, config.limit) if config.limit else n
    heading.section("Estimate")
    asks = bool(config.model or config.judge or rerankers.model_of(config.reranker))
    states = cache.state(corpus.id, config.index, config.questions, *(run.id for run in runs))
    key = digest(config.hash(), repr(states), repr(sorted(workspace.store.prices.all().items())))
    forecast = st.session_state.setdefault("forecasts", {}).get(key)
    with st.grid(2, min_column_width=140):
        tiles.tile("Retrievals", f"{n:,}", f"over {wording.counted(index.chunks, 'chunk')}")
        if not asks:
            embeds = compares_vectors(config.retriever) and index.config.embedder.startswith(REMOTE)
            tiles.tile("Calls to pay", "0", "except embeddings" if embeds else "no cost")
        elif forecast is None:
            tiles.tile("Calls to pay", "–", "not estimated yet")
        else:
            tiles.forecast(forecast)
    if forecast is not None:
        st.caption(f"Calls: {', '.join(f'{count:,} {step}' for step, count in forecast.calls.items())}.")
        if forecast.paid_words:
            st.caption(plain(forecast.paid_words))
    explained = "A dry run: retrieves, calls no model, and counts the calls that are already paid."
    if asks and forecast is None and st.button("Estimate calls and cost", help=explained):
        with notices.errors_shown(), st.spinner("Counting calls"):
            st.session_state["forecasts"][key] = running.foresee(workspace, config)
            st.rerun()
    st.caption(duration_words(config, index, n))
    notices.behind(index)
    if proposed := question_set.counts.get("proposed", 0):
        of_set = " in the set" if config.split else ""
        st.caption(f"{wording.counted(proposed, 'question')}{of_set} proposed and not reviewed yet: included.")


def duration_words(config: RunConfig, index: IndexInfo, questions: int) -> str:
    spec = rerankers.spec_of(config.reranker)
    doing = "Retrieving" if spec is None else "Retrieving and reranking"
    work = running.questions_by(config, index.config.embedder)
    seconds = stored_calls.duration(store.cache("rate"), work, questions)
    if seconds is None:
        return f"{doing}: no estimate yet on this machine."
    embeds = spec is not None and spec.embeds
    loads = "; plus the time to load the embedder" if embeds or compares_vectors(config.retriever) else ""
    return f"{doing}: about {wording.duration(seconds)}{loads}{' and to embed chunks' if embeds else ''}."


def unfinished(runs: list[Run], active: Collection[str]) -> None:
    interrupted = [run for run in runs if run.status != "done" and run.name not in active]
    if not interrupted:
        return
    last = {job.arguments.get("name"): job for job in reversed(queue.listed(workspace, 100)) if job.kind == "run"}
    heading.section("Interrupted")
    for run in interrupted[:5]:
        with st.container(border=True, gap="xsmall"):
            st.markdown(f"**{plain(run.name)}** · {wording.ago(run.created)}")
            job = last.get(run.name)
            st.caption(plain(job.error if job and job.error else "Its process ended; finished questions are kept."))
            dollars = None
            with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
                asks = run.config.model or run.config.judge or rerankers.model_of(run.config.reranker)
                if asks or budget.last_budget(run) is not None:
                    dollars = budget.field_of(run, f"more-{run.id}")
                job_panel.button("Resume", f"go-on-{run.id}", partial(made, run.name, run.config, dollars))


def made(name: str, config: RunConfig, dollars: float | None, *, is_new: bool = False) -> NewJob:
    if is_new and store.runs.find(name) and job_panel.active_job("run", corpus.id, name=name) is None:
        raise UsageError(f"There is already a run called “{name}”: choose another name.")
    new = run_verbs.make(workspace, name, config, dollars)
    st.session_state.pop("run-name-suggested", None)
    return new


def outcome() -> None:
    job = job_panel.finished_job("run", corpus.id)
    if job is None:
        return
    failed = job.result.get("failed", 0)
    failures = (
        f" :orange[▲] {wording.counted(failed, 'question')} failed in part: judge them again on the results page."
    )
    with notices.closable("close-run", lambda: job_panel.dismiss(job)):
        st.markdown(f"**Run {plain(job.result['run'])} is done.**{failures if failed else ''}")
        if done := store.runs.find(job.result["run"]):
            st.caption(plain(judgements.cost_words(cache.overview(done).judgement)))
        if st.button("Open results", type="primary"):
            job_panel.dismiss(job)
            address.go_to("results", run=job.result["run"], k=None)


corpus = frame.need_corpus()
heading.header("Run", f"Retrieve, answer and judge the questions about {corpus.name}.")
indexes = [i for i in store.indexes.all(corpus.id) if i.build]
sets = [s for s in store.sets.all(corpus.id) if s.total]
if not indexes or not sets:
    missing, lacks = ("an index", "is no index") if not indexes else ("questions", "are no questions")
    address.chosen("index", [i.name for i in indexes])
    address.chosen("set", [s.name for s in sets], noun="question set")
    notices.stop(
        f"A run needs an index and questions; there {lacks} yet.",
        ("index" if not indexes else "questions", f"Make {missing}"),
        ("targets", "Import what another system answered"),
    )  # fmt: skip
outcome()
runs = store.runs.all(corpus.id)
left, right = st.columns([3, 2], gap="medium")
with left:
    names = [run.name for run in runs]
    preset = address.readable("preset", address.one_of(names), "a run of this corpus") or DEFAULTS
    if names:  # what the address changed of another preset is no longer meant
        others = dict.fromkeys(field.name for field in BY_ADDRESS)
        by = address.shows("start-from", preset, lambda name: {"preset": name if name != DEFAULTS else None, **others})
        st.selectbox("Preset", [DEFAULTS, *names], help="An earlier run.", **by)
    earlier = next((run for run in runs if run.name == preset), None)
    start = earlier.config if earlier else RunConfig("", "")
    shown = changed_by_address(start)
    if shown.model in TARGETS:  # no model of that name can answer or judge
        shown = replace(shown, model="", judge="")
    with st.container(border=True):
        values = retrieving(indexes, sets, shown)
    with st.container(border=True):
        values |= answering(shown)
    with st.container(border=True):
        remote = store.indexes.get(values["index"]).config.embedder.startswith(REMOTE)
        embeds = compares_vectors(values["retriever"]) and remote
        pays = embeds or bool(rerankers.model_of(values["reranker"]))
        judge, dollars = judging(shown, values["answerer"], pays=pays)
    config = RunConfig(**values, **judge)
with right:
    of_run = {name: value for name, value in (values | judge).items() if name not in ("index", "questions")}
    resolved, refusal = None, None
    try:
        of = store.indexes.get(config.index), store.sets.get(config.questions)
        resolved = run_verbs.configured(workspace, *of, of_run)
    except RagvizError as error:
        refusal = error
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.container(width="stretch"):
            name = naming(config)
        going = job_panel.active_job("run", corpus.id, config=asdict(resolved)) if resolved else None
        off = not name or resolved is None
        new = partial(made, name, resolved or config, dollars, is_new=True)
        job_panel.button("Run", "make-run", new, active=going, going="Running…", disabled=off, kind="primary")
    if resolved is None:
        st.warning(plain(str(refusal)))
    else:
        with notices.errors_shown():
            cost(resolved)
    unfinished(runs, queue.active_runs(workspace))
address.link("targets", "Import what another system answered")
