from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import streamlit as st

from ragviz import jobs
from ragviz.backends.elastic_requests import OPTIONS
from ragviz.backends.protocol import SIMILARITIES
from ragviz.errors import RagvizError, UsageError
from ragviz.index import damage, indexing
from ragviz.index import preview as cutting
from ragviz.index.chunking import CHUNKERS
from ragviz.models import embedding, tokenizer, weights
from ragviz.records import NO_EMBEDDER, Chunk, DocumentInfo, IndexConfig, IndexInfo
from ragviz.report import plots
from ragviz.retrieval import search as searcher
from ragviz.retrieval.retrievers import needs, offered
from ragviz.text import markup
from ragviz.text.markup import plain
from ragviz.ui import address, cache, frame, heading, job_panel, widgets, wording

VECTORS = ["hnsw", "int8_hnsw", "flat"]

workspace = frame.begin()
store = workspace.store


def choices() -> tuple[str, IndexConfig]:
    """The form. Not a Streamlit form: the preview follows every change."""
    naming = st.container()
    chunker = st.segmented_control(
        "Strategy", list(CHUNKERS), required=True, **bound_choice("chunker", CHUNKERS, "tokens")
    )
    st.caption(CHUNKERS[chunker].explanation)
    left, right = st.columns(2)
    size = left.number_input(
        "Chunk size (tokens)", 8, 8192, step=10, **bound_number("size", 200, 8, 8192),
        help="Tokens of the embedder; without one, of the packaged model.",
    )  # fmt: skip
    most = max(0, int(size) - 1)
    overlap = right.number_input(
        "Overlap (tokens)", 0, most, step=10, help="Tokens that a chunk shares with the one before.",
        **bound_number("overlap", 0, 0, most),
    )  # fmt: skip
    own = {
        name: st.number_input(
            each.title, each.low, each.high, help=each.explanation or None, value=each.default, key=f"{chunker}-{name}"
        )
        for name, each in CHUNKERS[chunker].parameters.items()
    }
    embedder = embedder_choice()
    backend, options = backend_choices(bool(embedder))
    similarity = similarity_choice() if embedder else SIMILARITIES[0]
    config = IndexConfig(chunker, int(size), int(overlap), embedder, backend, similarity, options, own)  # type: ignore[arg-type]
    with naming:
        return name_of(config), config


def embedder_choice() -> str:
    """The embedder's name, chosen or typed; "" for an index that embeds nothing."""
    default = workspace.settings.embedder
    bound = address.bound("embedder", default, embedder_named, "a name or a folder's path")
    names = dict.fromkeys((default, NO_EMBEDDER, st.session_state["embedder"]))
    name = st.selectbox(
        "Embedder", names, **bound, accept_new_options=True,
        format_func=lambda each: "None (BM25 only)" if each == NO_EMBEDDER else each,
        help="Choose or type: a sentence-transformers model, a folder, or openai:MODEL at the configured endpoint. The "
        "default's weights are packaged.",
    )  # fmt: skip
    if name != NO_EMBEDDER:
        return (name or "").strip() or default
    st.caption(
        f"Nothing is embedded: BM25 ranks by words. The chunk size is counted in the tokens of {weights.PACKAGED}."
    )
    return ""


def similarity_choice() -> str:
    with st.expander("Similarity"):
        similarity: str = st.selectbox(
            "Similarity", SIMILARITIES, label_visibility="collapsed",
            help="Vectors have unit length, so all three rank alike; the scores differ.",
            **bound_choice("similarity", SIMILARITIES, SIMILARITIES[0]),
        )  # fmt: skip
    return similarity


def embedder_named(text: str) -> str | None:
    return text if len(text) <= 1000 else None  # errors quote it


def bound_choice(name: str, options: Collection[str], default: str) -> dict[str, Any]:
    return address.bound(name, default, address.one_of(options), f"one of {', '.join(options)}")


def bound_number(name: str, default: int, low: int, high: int) -> dict[str, Any]:
    return address.bound(name, default, address.number_within(low, high), f"{low:,} to {high:,}")


def name_of(config: IndexConfig) -> str:
    """The name typed, else one made of the choices."""
    made = f"{wording.short_name(corpus.name)}-{config.chunker}-{config.chunk_size}"
    suggested = wording.free_name(made, {info.name for info in store.indexes()})
    return widgets.suggested_name("Name", "index-name", suggested)


def backend_choices(embeds: bool) -> tuple[Any, dict[str, Any]]:
    """Backend and its own options; Elasticsearch only where an address is set, vectors only with an embedder."""
    if workspace.settings.elasticsearch_url is None:
        st.caption("Backend: local, exact search. Set ELASTICSEARCH_URL to build on Elasticsearch.")
        return "local", {}
    names = ["elasticsearch", "local"]
    backend = st.segmented_control(
        "Backend", names, required=True, **bound_choice("backend", names, workspace.default_backend)
    )
    if backend == "local" or not embeds:
        return backend, {}
    with st.expander("Elasticsearch options"):
        kind = st.selectbox(
            "Vector index", VECTORS, **bound_choice("es-type", VECTORS, VECTORS[0]),
            help="hnsw: approximate, on floats. int8_hnsw: a quarter of the memory, misses more. flat: exact, slower.",
        )  # fmt: skip
        left, right = st.columns(2)
        flat = kind == "flat"
        m = left.number_input("m", 2, 128, disabled=flat, **bound_number("es-m", OPTIONS["m"], 2, 128))
        ef_bound = bound_number("es-ef", OPTIONS["ef_construction"], 8, 1000)
        ef = right.number_input("ef_construction", 8, 1000, disabled=flat, **ef_bound)
    return backend, {"type": kind, "m": int(m), "ef_construction": int(ef)}


# The preview


@st.cache_data(show_spinner=False, max_entries=64)
def sample_cuts(of: cache.State, ids: tuple[str, ...], most: int, config: IndexConfig) -> list[list[Chunk]]:
    """Chunks of the sampled documents of a corpus, of each the first `most` characters."""
    found = cutting.cuts(cache.workspace(), of.ids[0], ids, most, config)
    return [found[document_id] for document_id in ids]


def preview(documents: Sequence[DocumentInfo], config: IndexConfig) -> None:
    """How the first documents would be cut, and what the whole corpus would come to."""
    if config.embedder != workspace.settings.embedder and not embedding.is_here(config.embedder):
        st.caption(
            f"{plain(config.embedder)} is not on this machine: its small files, fetched from the model hub, tell how "
            "documents would be cut."
        )
        if not st.button("Fetch them"):  # whoever opens an address makes the server fetch nothing
            return
    chosen = cutting.sampled(documents)
    most = cutting.share_of(chosen)
    cuts = sample_cuts(cache.state(corpus.id), tuple(d.id for d in chosen), most, cut_only(config))
    chunks = [chunk for document in cuts for chunk in document]
    if not chunks:
        st.caption("Nothing to cut: the documents have no text.")
        return
    limit = tokenizer.text_tokens_of(config.embedder)
    lengths = np.array([chunk.tokens for chunk in chunks])
    estimate(cutting.extent(documents, chosen, cuts, embeds=bool(config.embedder)), bool(config.embedder))
    if limit is not None and (over := int((lengths > limit).sum())):
        st.warning(
            f"{over} of {len(chunks)} previewed chunks are longer than the {limit} tokens that the embedder reads: "
            "the rest of each would silently not be embedded. Choose a smaller chunk size."
        )
    widgets.figure(plots.chunk_lengths(lengths, limit, height=190), "lengths")
    names = [d.name for d in chosen]
    name = st.selectbox("Preview of", names, key="preview-of", label_visibility="collapsed", format_func=markup.visible)
    draw_cuts(chosen[names.index(name)], cuts[names.index(name)])


def cut_only(config: IndexConfig) -> IndexConfig:
    """The choices that change cuts, so that others do not cut again."""
    return replace(config, backend="local", similarity="cosine", options={})


def draw_cuts(info: DocumentInfo, chunks: Sequence[Chunk]) -> None:
    text = store.document(corpus.id, info.id).text[: cutting.SHOWN]
    here = [(c.start, min(c.end, cutting.SHOWN)) for c in chunks if c.start < cutting.SHOWN]
    entries = [("even", "chunk"), ("odd", "next chunk"), ("shared", "in both: the overlap")]
    st.html(markup.legend(entries if markup.overlapping(here) else entries[:2]))
    with st.container(border=True, height=300):
        st.html(markup.cuts(text, here, language=info.language))
    if info.characters > cutting.SHOWN:
        st.caption(f"The first {cutting.SHOWN:,} of {info.characters:,} characters.")


def estimate(extent: cutting.Extent, embeds: bool) -> None:
    """Chunks, tokens, time and disk of the whole corpus."""
    about = "" if extent.exact else "~"
    spoken = "At the speed of the packaged model on two CPU cores. What was embedded before is not again."
    with widgets.tiles():
        widgets.tile("Chunks", f"{about}{rounded(extent.chunks, about):,}")
        widgets.tile("Tokens", f"{about}{rounded(extent.tokens, about):,}")
        if embeds:
            widgets.tile("Embedding", wording.duration(extent.seconds), explained=spoken)
        disk = "Vectors of 384 dimensions, and text." if embeds else "Text, and its words for BM25."
        widgets.tile("Disk", wording.size_words(extent.size), explained=disk)


def rounded(count: int, about: str) -> int:
    """Two digits are enough for what is scaled up."""
    digits = len(str(count)) - 2
    return round(count, -digits) if about and digits > 0 else count


# What there is


def cards(indexes: Sequence[IndexInfo]) -> None:
    with st.grid(3, min_column_width=260):
        for info in indexes:
            with st.container(border=True, height="stretch", gap="xsmall"):
                card(info)


def card(info: IndexInfo) -> None:
    config = info.config
    st.markdown(f"**{plain(info.name)}**")
    embedder = plain(config.embedder) or "no embedder"
    st.caption(f"{config.chunker} {config.chunk_size}, overlap {config.overlap} · {embedder} · {config.backend}")
    if not info.build:
        st.markdown(f":orange[▲] {'being built' if info.status == 'building' else 'its last build failed'}")
    else:
        st.markdown(
            f"{wording.counted(info.chunks, 'chunk')} of {wording.counted(len(info.documents), 'document')} · "
            f"{f'{info.dims} dimensions' if info.dims else 'BM25 only'} · {size(info)} · "
            f"{wording.ago(info.built or info.created)}"
        )
    if paid := indexing.cost_words(*store.paid(info.id)):
        st.caption(plain(f"So far {paid}"))
    broken, unknown = damage_of(info)
    if unknown:
        st.markdown(f":orange[▲] **Not known** whether it is sound: {plain(unknown)}")
    if broken:
        what = "Not here" if damage.may_be_elsewhere(workspace, info) else "Damaged"
        st.markdown(f":red[▲] **{what}**: {plain(broken)}. Rebuilding it embeds nothing again.")
    new, changed, gone = indexing.stale(workspace, info)
    behind = [f"{len(part)} {word}" for part, word in ((new, "new"), (changed, "changed"), (gone, "gone")) if part]
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if behind or broken or info.status == "failed":
            label = "Rebuild" if broken else f"Update: {', '.join(behind)}" if info.build else "Build"
            if st.button(label, key=f"update-{info.id}", type="primary" if info.build else "secondary"):
                build(info.name, config)
        if info.build and not broken and not unknown:
            address.link("run", "Run on it", index=info.name)
        if st.button("Delete", key=f"delete-{info.id}", type="tertiary"):
            runs = [run for run in store.runs(corpus.id) if run.config.index == info.id and run.status == "done"]
            kept = f" {wording.counted(len(runs), 'run')} on it can be read as before." if runs else ""
            widgets.confirm(
                f"This deletes the index “{info.name}” with {wording.counted(info.chunks, 'chunk')}."
                f"{kept}{job_panel.stops_jobs()}",
                "Delete",
                lambda: (indexing.delete_index(workspace, info), address.put(index=None)),
                widgets.leaving([info]),
                lambda: (indexing.delete_index(workspace, info, leave_remote=True), address.put(index=None)),
            )


def damage_of(info: IndexInfo) -> tuple[str, str]:
    """What is wrong with what an index holds, and why that is not known: "" when nothing is, and when it is."""
    try:
        return damage.damage(workspace, info), ""
    except RagvizError as error:
        return "", str(error)


def size(info: IndexInfo) -> str:
    """What an index takes on disk; that its server cannot be reached is never kept."""
    try:
        return wording.size_words(bytes_of(cache.state(info.id)))
    except RagvizError:
        return "not reachable"


@st.cache_data(show_spinner=False, max_entries=256)
def bytes_of(of: cache.State) -> int:
    workspace = cache.workspace()
    return workspace.index(workspace.store.index(of.ids[0])).size()


def build(name: str, config: IndexConfig) -> None:
    indexing.check_build(workspace, corpus, name, config)
    arguments = {"corpus": corpus.name, "name": name, "config": asdict(config), "fresh": False}
    address.put(index=name)
    job_panel.watch(jobs.submit(workspace, "index", f"Build {name}", corpus.id, arguments))
    st.rerun()


def last_build() -> None:
    """What the newest build did, for an hour."""
    job = job_panel.finished_job("index", corpus.id, minutes=10)
    if job is None:
        return
    built = job.result
    st.info(
        f"Index {plain(built['index'])}: {wording.counted(built['chunks'], 'chunk')}, {built['added']:,} new, "
        f"{built['removed']:,} gone, {wording.counted(built['embedded'], 'text')} embedded."
    )
    if built["longer_than_read"]:
        st.warning(
            f"{wording.counted(built['longer_than_read'], 'chunk')} longer than the embedder reads: cut smaller."
        )


# Search


def search(indexes: Sequence[IndexInfo]) -> None:
    names = [info.name for info in indexes]
    with st.form("search", border=False):
        columns = st.columns([4, 5, 6, 2], vertical_alignment="bottom")  # hybrid is whole at 1024
        with columns[0]:
            name = st.selectbox("Index", names, index=names.index(address.chosen("index", names) or names[0]))
        info = indexes[names.index(name)]
        query = columns[1].text_input("Query", value=st.query_params.get("query", ""), type="search")
        served = offered(info.config)
        retrievers = columns[2].segmented_control(
            "Retrievers", served, selection_mode="multi", default=served, key=f"retrievers-{'-'.join(served)}"
        )
        asked = columns[3].form_submit_button("Search", type="primary", width="stretch")
    if asked:
        address.put(index=name, query=query.strip() or None)
        st.session_state["searched"] = query.strip()
    query = st.query_params.get("query", "")
    if not query or not retrievers:
        st.caption("Type a question or words: the retrievers you choose answer side by side.")
        return
    if query != st.session_state.get("searched") and (reason := asks_others(info.config.embedder)):
        st.caption(f"{reason} Press *Search*.")
        return
    for column, retriever in zip(st.columns(len(retrievers), gap="medium"), retrievers, strict=True):
        with column, widgets.errors_shown():
            st.markdown(f"**{retriever}**")
            loading = "; the first search loads the embedder, about 10 s" * ("embedder" in needs(retriever))
            with st.spinner(f"Searching{loading}"):
                found = results(cache.state(info.id, corpus.id), query, retriever)
            hits(found)


def asks_others(embedder: str) -> str:
    """Why a search by an embedder waits for the button, which whoever opens an address has not pressed; "" if not."""
    if embedder.startswith(tokenizer.REMOTE):
        return f"{plain(embedder)} is asked at the model endpoint, which may cost money."
    return "" if embedding.is_here(embedder) else f"{plain(embedder)} has to be fetched from the model hub."


@st.cache_data(show_spinner=False, max_entries=64)
def results(of: cache.State, query: str, way: str) -> list[searcher.ChunkHit]:
    """Hits with the text of their documents: state of the index and of its corpus."""
    workspace = cache.workspace()
    return searcher.search(workspace, workspace.store.index(of.ids[0]), query, way, 10)  # type: ignore[arg-type]


def hits(found: Sequence[searcher.ChunkHit]) -> None:
    if not found:
        st.caption("Nothing found.")
    best = max((f.hit.score for f in found), default=1.0)
    for each in found:
        with st.container(border=True, gap="xsmall"):
            st.html(markup.score_bar(each.hit.rank, each.hit.score, best))
            if each.chunk is None:
                st.caption("Its document was deleted.")
                continue
            page = f", page {each.chunk.page}" if each.chunk.page else ""
            at = f"{each.chunk.start}-{each.chunk.end}"
            address.link("documents", f"{each.document_name}{page}", document=each.document_name, at=at)
            st.html(markup.highlighted(each.chunk.text, fold=150))


def new_index() -> None:
    left, right = st.columns([2, 3], gap="medium")
    with left, widgets.errors_shown():
        name, config = choices()
        if st.button("Build index", type="primary", disabled=not name):
            if store.index_named(name):
                raise UsageError(f"There is already an index called “{name}”: choose another name, or update it.")
            build(name, config)
    with right, widgets.errors_shown():
        preview(documents, config)


corpus = frame.need_corpus()
heading.header("Index", f"How {corpus.name} is cut, embedded and searched.")
documents = [d for d in store.documents(corpus.id) if d.status == "ok" and d.characters]
indexes = store.indexes(corpus.id)
if not documents:
    with widgets.nothing(f"{plain(corpus.name)} has no text to index yet."):
        address.link("documents", "Add documents")
    st.stop()
last_build()
ready = [info for info in indexes if info.build]
if indexes:
    cards(indexes)
    searching, making = address.choose_tab(["Search", "New index"], "index-tab")
    if searching.open:
        with searching, widgets.errors_shown():
            if ready:
                search(ready)
            else:
                st.caption("Nothing to search until an index is built.")
    if making.open:
        with making:
            new_index()
else:
    new_index()
