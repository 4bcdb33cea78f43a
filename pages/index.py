from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from ragviz.backends.elastic_requests import OPTIONS, SIMILARITIES, TYPES
from ragviz.core.configuration import NO_EMBEDDER, REMOTE, IndexConfig, IndexInfo
from ragviz.core.document import Chunk, Corpus, DocumentInfo
from ragviz.core.errors import RagvizError, UsageError
from ragviz.core.fields import fields_of
from ragviz.core.job import NewJob
from ragviz.index import chunking, damage, indexing, prefixes
from ragviz.index import preview as cutting
from ragviz.jobs import queue
from ragviz.models import embedding, tokenizer, weights
from ragviz.report import plots
from ragviz.retrieval import search as searcher
from ragviz.retrieval.retrievers import compares_vectors, language_warning, offered
from ragviz.service import index_verbs
from ragviz.text import markup
from ragviz.text.markup import plain, without_middle
from ragviz.ui import address, cache, frame, job_panel, passages, presses, wording
from ragviz.ui.kit import acting, figure, form, heading, notices, tiles

HITS = 5  # of each retriever
VECTORS = list(TYPES)
BUILDING = (("m", 2, 128), ("ef_construction", 8, 1000), ("shards", 1, 64))  # numbers of an index, with their range
REPLICAS = ["automatic", "0", "1", "2"]

workspace = frame.begin()
store = workspace.store


def choices() -> tuple[str, dict[str, Any]]:
    """Draw the fields of a new index, outside a Streamlit form so that the preview follows every change."""
    naming = st.container()
    fields = {name: field for name, field in fields_of(IndexConfig).items() if field.group and field.type is not dict}
    if workspace.settings.elasticsearch_url is None:
        del fields["backend"]
    else:
        fields["backend"] = replace(fields["backend"], colon=False)  # its kind of index is one of its options
    start = asdict(IndexConfig()) | {"embedder": workspace.settings.embedder, "backend": workspace.default_backend}
    embedders = (workspace.settings.embedder, NO_EMBEDDER)
    given = form.draw(
        list(fields.values()),
        start,
        offered={"embedder": embedders},
        more=("query_prompt", "passage_prompt"),
    )
    if workspace.settings.elasticsearch_url is None:
        st.caption("Backend: local, exact search. Set ELASTICSEARCH_URL to build on Elasticsearch.")
    elif given["backend"] == "elasticsearch" and given["embedder"] != NO_EMBEDDER:
        given["options"] = elasticsearch_options()
    if given["embedder"] == NO_EMBEDDER:
        st.caption(
            f"Nothing is embedded: BM25 ranks by words. The chunk size is counted in the tokens of {weights.PACKAGED}."
        )
    made = f"{wording.short_name(corpus.name)}-{given['chunker']}-{given['chunk_size']}"
    made += "" if given["prefix"] == prefixes.NONE else f"-{given['prefix']}"
    suggested = wording.free_name(made, {info.name for info in store.indexes.all()})
    with naming:
        return form.suggested_name("Name", "index-name", suggested, used_by=presses.key("build-index")), given


def elasticsearch_options() -> dict[str, Any]:
    with st.expander("Elasticsearch options"):
        kind = st.selectbox(
            "Vector index", VECTORS,
            **address.bound("es-type", VECTORS[0], address.one_of(VECTORS), f"one of {', '.join(VECTORS)}"),
            help="hnsw: approximate, on floats. int8_hnsw, int4_hnsw, bbq_hnsw: a quarter, an eighth, a thirtieth of "
            "the memory, and each misses more; bbq_hnsw needs Elasticsearch 8.18. flat: exact, slower.",
        )  # fmt: skip
        similarity = st.selectbox(
            "Similarity", SIMILARITIES, help="Vectors have unit length: all three rank alike, the scores differ.",
            **address.bound("es-similarity", SIMILARITIES[0], address.one_of(SIMILARITIES), "a similarity"),
        )  # fmt: skip
        given: dict[str, Any] = {"type": kind} | ({} if similarity == SIMILARITIES[0] else {"similarity": similarity})
        *columns, last = *st.columns(2), *st.columns(2)
        for column, (name, low, high) in zip(columns, BUILDING, strict=True):
            of = address.bound(f"es-{name}", OPTIONS[name], address.number_within(low, high), f"{low:,} to {high:,}")
            given[name] = int(column.number_input(name, low, high, disabled=kind == "flat" and name != "shards", **of))
        replicas = last.selectbox(
            "replicas", REPLICAS, help="automatic: one where there is a second node",
            **address.bound("es-replicas", REPLICAS[0], address.one_of(REPLICAS), f"one of {', '.join(REPLICAS)}"),
        )  # fmt: skip
    return given | ({} if replicas == REPLICAS[0] else {"replicas": int(replicas)})


# The preview


@cache.kept(64)
def sample_cuts(corpus: Corpus, ids: tuple[str, ...], most: int, config: IndexConfig) -> list[list[Chunk]]:
    chunks_by_document = cutting.cuts(workspace, corpus.id, ids, most, config)
    return [chunks_by_document[document_id] for document_id in ids]


def preview(documents: Sequence[DocumentInfo], config: IndexConfig) -> None:
    if config.embedder != workspace.settings.embedder and acting.off():  # it may be any folder of this machine
        st.caption(f"A preview by another embedder is not drawn for a viewer. {acting.words()}")
        return
    if config.embedder != workspace.settings.embedder and not embedding.is_here(config.embedder):
        st.caption(
            f"{plain(config.embedder)} is not on this machine: a preview needs its tokenizer and configuration "
            "from the model hub."
        )
        if not st.button("Download tokenizer"):  # opening an address alone must not make the server download anything
            return
    sampled = cutting.sampled(documents)
    most = cutting.share_of(sampled)
    cutting_choices = replace(config, backend="local", options={}, prefix=prefixes.NONE)
    cuts = sample_cuts(corpus, tuple(d.id for d in sampled), most, cutting_choices)
    chunks = [chunk for document in cuts for chunk in document]
    if not chunks:
        st.caption("Nothing to chunk: the documents have no text.")
        return
    limit = tokenizer.text_tokens_of(config.embedder)
    lengths = np.array([chunk.tokens for chunk in chunks])
    speed = cutting.speed_of(workspace, config.embedder)
    estimate(cutting.extent(documents, sampled, cuts, embeds=bool(config.embedder), speed=speed), bool(config.embedder))
    if limit is not None and (too_long := int((lengths > limit).sum())):
        st.warning(
            f"{too_long} of {len(chunks)} previewed chunks are longer than the {limit} tokens that the embedder reads: "
            "the rest of each would not be embedded. Choose a smaller chunk size."
        )
    figure.draw(plots.chunk_lengths(lengths, limit, height=190), "lengths")
    st.caption(plain(sampled[0].name))
    info, text = sampled[0], store.documents.get(corpus.id, sampled[0].id).text[: cutting.SHOWN]
    visible_chunks = [(c.start, min(c.end, cutting.SHOWN)) for c in cuts[0] if c.start < cutting.SHOWN]
    entries = [("even", "chunk"), ("odd", "next chunk"), ("shared", "overlap of both")]
    st.html(markup.legend(entries if markup.overlapping(visible_chunks) else entries[:2]))
    with st.container(border=True, height=300):
        st.html(markup.cuts(text, visible_chunks, language=info.language))
    if info.characters > cutting.SHOWN:
        st.caption(f"The first {cutting.SHOWN:,} of {info.characters:,} characters.")


def estimate(extent: cutting.Extent, embeds: bool) -> None:

    def rounded(count: int) -> str:  # an extrapolated one to two digits
        return f"{count:,}" if extent.exact else f"~{float(f'{count:.2g}'):,.0f}"

    explained = "At the speed of earlier builds on this machine. Texts embedded before are not embedded again."
    lasts = "–" if extent.seconds is None else wording.duration(extent.seconds)
    with tiles.row():
        tiles.tile("Chunks", rounded(extent.chunks))
        tiles.tile("Tokens", rounded(extent.tokens))
        if embeds:
            note = "no estimate yet on this machine" if extent.seconds is None else ""
            tiles.tile("Embedding", lasts, note, explained=explained)
        disk = "Vectors of 384 dimensions, and text." if embeds else "Text, and its words for BM25."
        tiles.tile("Disk", wording.size_words(extent.size), explained=disk)


# The indexes


def card(info: IndexInfo) -> None:
    config = info.config
    st.markdown(f"**{plain(info.name)}**")
    embedder = plain(config.embedder) or "no embedder"
    options = [str(value) if name == "type" else f"{name} {value}" for name, value in config.options.items()]
    where = plain(", ".join([config.backend, *options]))
    st.caption(f"{chunking.in_words(asdict(config))}, overlap {config.overlap} · {embedder} · {where}")
    build_state(info)
    paid = store.payments.of(info.id)
    if words := indexing.cost_words(paid.calls, paid.dollars):
        st.caption(plain(f"So far {words}"))
    try:
        broken, unknown = damage.damage(workspace, info), ""
    except RagvizError as error:
        broken, unknown = "", str(error)
    if unknown:
        st.markdown(f":orange[▲] **State unknown**: {plain(unknown)}")
    if broken:
        title = "Not here" if damage.may_be_elsewhere(workspace, info) else "Damaged"
        st.markdown(f":red[▲] **{title}**: {plain(broken)}. Rebuilding it embeds nothing again.")
    parts = zip(indexing.stale(workspace, info), ("new", "changed", "removed"), strict=True)
    changes = [f"{len(part)} {word}" for part, word in parts if part]
    short = without_middle(info.name, 40)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if changes or broken or info.status == "failed":
            label = "Rebuild" if broken else f"Update: {', '.join(changes)}" if info.build else "Build"
            active = job_panel.active_job("index", corpus.id, name=info.name)
            kind = "primary" if info.build and (changes or broken) else "secondary"
            new = partial(build, info.name)
            job_panel.button(label, f"update-{info.id}", new, active=active, going="Building…", kind=kind)
        if info.build and not broken and not unknown:
            if has_questions:
                address.link("run", f"Make a run on {short}", index=info.name)
            else:
                address.link("questions", f"Make questions from {short}", index=info.name, tab="Generate")
        delete_button(info)


def build_state(info: IndexInfo) -> None:
    maker = next((job for job in recent if queue.made_by(job, "index") in (info.name, info.id)), None)
    if maker is not None and maker.status == "interrupted":
        st.markdown(f":orange[▲] its build{job_panel.by(maker)} was interrupted on {plain(maker.host)}")
    elif not info.build:
        words = "being built" if info.status == "building" else "its last build failed"
        st.markdown(f":orange[▲] {words}{job_panel.by(maker) if maker is not None else ''}")
    if info.build:
        st.markdown(
            f"{wording.counted(info.chunks, 'chunk')} of {wording.counted(len(info.documents), 'document')} · "
            f"{f'{info.dims} dimensions' if info.dims else 'BM25 only'} · {size(info)} · "
            f"{wording.ago(info.built or info.created)}"
        )


def delete_button(info: IndexInfo) -> None:
    if st.button("Delete", key=f"delete-{info.id}", type="tertiary", disabled=acting.off()):
        runs = [run for run in store.runs.all(corpus.id) if run.config.index == info.id and run.status == "done"]
        kept_runs = f" {wording.counted(len(runs), 'run')} on it can still be read." if runs else ""
        notices.confirm(
            f"This deletes the index “{info.name}” with {wording.counted(info.chunks, 'chunk')}."
            f"{kept_runs}{job_panel.stops_jobs()}",
            "Delete",
            lambda leave=False: (
                index_verbs.delete(workspace, info, leave_remote=leave),
                address.put(index=None),
            ),
            notices.leaving([info]),
        )


def size(info: IndexInfo) -> str:
    """Return the size of an index on disk; an unreachable server is not cached."""
    try:
        return wording.size_words(bytes_of(info))
    except RagvizError:
        return "not reachable"


@cache.kept(256)
def bytes_of(info: IndexInfo) -> int:
    return workspace.index(info).size()


def build(name: str, given: Mapping[str, Any] | None = None) -> NewJob:
    if given is not None and store.indexes.find(name) and job_panel.active_job("index", corpus.id, name=name) is None:
        raise UsageError(f"There is already an index called “{name}”: choose another name, or update it.")
    new = index_verbs.build(workspace, corpus, name, given)
    address.put(index=name)
    return new


# Search


def search() -> None:
    indexes = [info for info in indexes_here if info.build]
    if not indexes:
        st.caption("Nothing to search until an index is built.")
        return
    names = [info.name for info in indexes]
    left, right = st.columns([5, 12], vertical_alignment="bottom")
    with left:
        name = address.choose("Index", names, "index")
    info = indexes[names.index(name or names[0])]
    query = right.text_input("Query", type="search", **address.bound("query", "", str, "a text")).strip()
    if not query:
        st.caption("Type a query: what each retriever finds is shown side by side.")
        return
    embedder = info.config.embedder
    remote = embedder.startswith(REMOTE)
    if query != st.session_state.get("searched") and (remote or not embedding.is_here(embedder)):
        why = "runs at the model endpoint, which may cost money" if remote else "has to be downloaded"
        st.caption(f"{plain(embedder)} {why}.")
        if not st.button("Search", type="primary", disabled=acting.off()):
            return
        st.session_state["searched"] = query
    retrievers = offered(info.config)
    for column, retriever in zip(st.columns(len(retrievers), gap="medium"), retrievers, strict=True):
        with column, notices.errors_shown():
            st.markdown(f"**{retriever}**")
            loading = "; the first search loads the embedder" * compares_vectors(retriever)
            with st.spinner(f"Searching{loading}"):
                hits_found = results(info, query, retriever)
            hits(hits_found)


@cache.kept(64, also=lambda index, *_: (index.corpus_id,))
def results(index: IndexInfo, query: str, way: str) -> list[searcher.ChunkHit]:
    return searcher.search(workspace, index, query, way, HITS)


def hits(matches: Sequence[searcher.ChunkHit]) -> None:
    if not matches:
        st.caption("No results.")
    best = max((f.hit.score for f in matches), default=1.0)
    for each in matches:
        with st.container(border=True, gap="xsmall"):
            st.html(markup.score_bar(each.hit.rank, each.hit.score, best))
            if each.chunk is None:
                st.caption("Its document was deleted.")
                continue
            passages.link_to(each.document_name, each.chunk)
            st.html(markup.highlighted(each.chunk.text, fold=150))


def new_index() -> None:
    left, right = st.columns([2, 3], gap="medium")
    with left, notices.errors_shown():
        name, given = choices()
        config = index_verbs.configured(workspace, "", given)
        going = job_panel.active_job("index", corpus.id, config=asdict(config))
        new, busy = partial(build, name, given), "Being built with these settings…"
        job_panel.button("Build index", "build-index", new, active=going, going=busy, disabled=not name, kind="primary")
    with right, notices.errors_shown():
        if warning := language_warning(config.embedder, documents):
            st.warning(plain(warning))
        preview(documents, config)


corpus = frame.need_corpus()
heading.header("Index", f"How {corpus.name} is chunked, embedded and searched.")
documents = [d for d in store.documents.all(corpus.id) if d.status == "ok" and d.characters]
indexes_here = store.indexes.all(corpus.id)
if not documents:
    notices.stop(f"{plain(corpus.name)} has no text to index yet.", ("documents", "Add documents"))
has_questions = any(each.total for each in store.sets.all(corpus.id))
recent = [job for job in queue.listed(workspace, 50) if job.corpus_id == corpus.id]
if indexes_here:
    with st.grid(3, min_column_width=260):
        for info in indexes_here:
            with st.container(border=True, height="stretch", gap="xsmall"):
                card(info)
    notices.tabs({"Search": search, "New index": new_index}, "index-tab")
else:
    new_index()
