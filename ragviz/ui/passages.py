"""Chunks and evidence, shown with their text: rankings, source chunks, spans in their documents."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from ragviz.core.configuration import Run
from ragviz.core.digests import digest
from ragviz.core.document import Chunk, Document, Evidence, Span
from ragviz.core.question import Question
from ragviz.core.ranking import Hit, Retrieved
from ragviz.core.verdict import ClaimVerdict
from ragviz.judging.texts import sentences_of
from ragviz.retrieval import search
from ragviz.retrieval.search import ChunkHit
from ragviz.text.former_documents import UNKNOWN, unmarked
from ragviz.text.markup import Stance, around, badges, highlighted, plain, score_bar
from ragviz.ui import address, cache, wording

WITHOUT_EVIDENCE = {
    "unanswerable": "Unanswerable: the documents hold no evidence for it, so there is nothing to retrieve.",
    "reference": "Reference only: where the documents hold the answer is not known, so its ranking is not measured.",
}
"""Kind of a question without evidence → what that means."""


@dataclass(frozen=True, slots=True)
class Note:
    """What is shown beside a chunk: badges as (class, words), and the verdict on the chosen claim by this chunk."""

    badges: tuple[tuple[str, str], ...] = ()
    claim_verdict: ClaimVerdict | None = None


def lit_in(text: str, claim_verdict: ClaimVerdict | None) -> list[Stance]:
    """Return where the sentence is that supports or contradicts a claim, [] when none does or none was named.

    >>> lit_in("One. Two.", ClaimVerdict("contradicted", 1)), lit_in("One.", ClaimVerdict("absent", 0))
    ([(5, 9, 'against')], [])
    """
    if claim_verdict is None or claim_verdict.sentence is None or claim_verdict.verdict == "absent":
        return []
    sentences = sentences_of(text)
    if claim_verdict.sentence >= len(sentences):
        return []
    return [(*sentences[claim_verdict.sentence], "against" if claim_verdict.verdict == "contradicted" else "for")]


def gold_in(chunk: Chunk, evidence: Evidence) -> list[tuple[int, int]]:
    """Return where the evidence is in a chunk, in characters of the chunk.

    >>> chunk = Chunk("d-5-15", "d", 5, 15, "0123456789", 3)
    >>> gold_in(chunk, ((Span("d", 0, 8),), (Span("d", 12, 99),), (Span("other", 6, 7),)))
    [(0, 3), (7, 10)]
    """
    spans = [s for group in evidence for s in group if s.document_id == chunk.document_id and not s.stale]
    clipped = ((max(s.start, chunk.start) - chunk.start, min(s.end, chunk.end) - chunk.start) for s in spans)
    return [(start, end) for start, end in clipped if start < end]


def ranked_chunks(run: Run, question: Question, retrieved: Retrieved, k: int, notes: Mapping[str, Note]) -> None:
    """Draw a ranking as cards: the first chunks and all gold chunks, the rest behind a button."""
    gold = {chunk_id for group in retrieved.gold for chunk_id in group}
    hits = retrieved.ranking.hits()
    more, first = f"more-{run.id}-{question.id}", max(k + 2, 5)
    shown_hits = hits if st.session_state.get(more) else [h for h in hits if h.rank <= first or h.chunk_id in gold]
    best = max((hit.score for hit in hits), default=1.0)
    last = 0
    for each in search.with_chunks(cache.workspace(), run.corpus_id, shown_hits):
        if last <= k < each.hit.rank:
            st.html(f'<p class="rv-cut">cut at k = {k}: chunks below are not used</p>')
        if each.hit.rank > last + 1:
            st.caption(f"{wording.counted(each.hit.rank - last - 1, 'chunk')} between")
        last = each.hit.rank
        with st.container(border=True, gap="xsmall"):
            note = notes.get(each.hit.chunk_id, Note())
            bar = score_bar(each.hit.rank, each.hit.score, best, marked=each.hit.chunk_id in gold)
            st.html(anchor(each.hit.chunk_id) + bar)
            _chunk_text(each, question.evidence, note)
    if len(shown_hits) < len(hits) and st.button(f":blue[Show all {len(hits)}]", key=f"{more}-button", type="tertiary"):
        st.session_state[more] = True
        st.rerun()
    if not hits:
        st.caption("The retriever returned no chunks.")


def given_chunks(corpus_id: str, question: Question, ids: Sequence[str], notes: Mapping[str, Note]) -> None:
    """Draw chunks that were given as context without a ranking, as cards."""
    hits = [Hit(chunk_id, rank, 0.0) for rank, chunk_id in enumerate(ids, start=1)]
    for each in search.with_chunks(cache.workspace(), corpus_id, hits):
        with st.container(border=True, gap="xsmall"):
            note = notes.get(each.hit.chunk_id, Note())
            first = Note((("", f"passage {each.hit.rank}"), *note.badges), note.claim_verdict)
            st.html(anchor(each.hit.chunk_id))
            is_file = cache.workspace().store.documents.find(corpus_id, each.document_name) is not None
            _chunk_text(each, question.evidence, first, linked=is_file)
    if not ids:
        st.caption("None are known.")


def anchor(chunk_id: str) -> str:
    """Return the HTML that `jumps` lead to: the beginning of a chunk's card."""
    return f'<span class="rv-anchor" id="chunk-{digest(chunk_id)}"></span>'


def jumps(targets: Sequence[tuple[str, str]]) -> str:
    """Return links to the cards of chunks on this page, as HTML, of (chunk id, words) pairs."""
    links = (f'<a href="#chunk-{digest(chunk_id)}">{html.escape(words)} ↓</a>' for chunk_id, words in targets)
    return f'<p class="rv-jumps">{" ".join(links)}</p>'


def link_to(document_name: str, chunk: Chunk) -> None:
    """Draw a link to the place of a chunk in its document."""
    page = f", page {chunk.page}" if chunk.page else ""
    _link(f"{document_name}{page}", document_name, chunk.start, chunk.end)


def _link(label: str, document_name: str, start: int, end: int) -> None:
    """Draw a link to a place in a document, the name of which tells it from other places in that document.

    A text that was replaced since is on no page: its place is named only.
    """
    if unmarked(document_name) != document_name:
        st.caption(plain(f"{label} · {start:,}–{end:,}"))
        return
    address.link("documents", f"{label} · {start:,}–{end:,}", document=document_name, at=f"{start}-{end}")


def _chunk_text(each: ChunkHit, evidence: Evidence, note: Note, *, linked: bool = True) -> None:
    if note.badges:
        st.html(badges(note.badges))
    if each.chunk is None:
        st.caption(plain(f"The text of this chunk is gone: its document was removed, {each.document_name}."))
        return
    if linked:
        link_to(each.document_name, each.chunk)
    else:
        st.caption(plain(each.document_name))
    lit = lit_in(each.chunk.text, note.claim_verdict)
    st.html(highlighted(each.chunk.text, gold_in(each.chunk, evidence), stances=lit, fold=110))


def source_chunks(corpus_id: str, question: Question) -> None:
    """Draw the chunks that a question was generated from."""
    hits = [Hit(chunk_id, rank, 0.0) for rank, chunk_id in enumerate(question.source_chunks, start=1)]
    for each in search.with_chunks(cache.workspace(), corpus_id, hits):
        if each.chunk is not None:
            link_to(each.document_name, each.chunk)
            st.html(highlighted(each.chunk.text, language=question.language))


def evidence_groups(
    corpus_id: str,
    question: Question,
    retrieved: Retrieved | None = None,
    *,
    k: int = 0,
    depth: int = 0,
    fold: int | None = None,
) -> None:
    """Draw every group of a question's evidence in its document, where there are several with their ranks.

    With `retrieved`, what its first `k` chunks hold of the evidence is marked; `depth` is that of the ranking. With
    `fold`, text further from the evidence than that many characters is folded.
    """
    if not question.evidence:
        st.caption(WITHOUT_EVIDENCE[question.kind])
    number = len(question.evidence)
    for place, group in enumerate(question.evidence):
        if number > 1:
            where = f" · {rank_words(retrieved, place, k, depth)}" if retrieved is not None else ""
            part = question.parts[place] if len(question.parts) == number else ""  # what this passage tells of it
            st.markdown(f"**Passage {place + 1} of {number}**{where}{f': {plain(part)}' if part else ''}")
        kept_ids = retrieved.ranking.ids[:k] if retrieved is not None else ()
        for span in group:
            _span_in_document(corpus_id, span, kept_ids, question.language, fold=fold)


def rank_words(retrieved: Retrieved, group: int, k: int, depth: int) -> str:
    """Return the rank of the first gold chunk of a group of evidence, in words.

    >>> from ragviz.core.ranking import Ranking
    >>> retrieved = Retrieved("q", Ranking(("a", "b", "c"), (3.0, 2.0, 1.0)), (("b",), ("c",), ("d",), ()))
    >>> [rank_words(retrieved, group, 2, 50) for group in range(4)]
    ['found at rank 2', 'at rank 3, below k = 2', 'not in top 50', 'in no chunk']
    """
    gold = set(retrieved.gold[group])
    if not gold:
        return "in no chunk"
    rank = next((rank for rank, chunk_id in enumerate(retrieved.ranking.ids, start=1) if chunk_id in gold), 0)
    if not rank:
        return f"not in top {depth:,}"
    return f"found at rank {rank}" if rank <= k else f"at rank {rank}, below k = {k}"


def _span_in_document(corpus_id: str, span: Span, chunk_ids: Sequence[str], language: str, *, fold: int | None) -> None:
    store = cache.workspace().store
    document = next(iter(store.documents.texts(corpus_id, [span.document_id])), None)
    name = store.documents.names(corpus_id, [span.document_id]).get(span.document_id, UNKNOWN)
    if span.stale or document is None:
        gone = f"The document of this text was removed: {name}."
        st.caption("Stale: this text is in no document any more." if span.stale else plain(gone))
        st.html(highlighted(span.text, language=language))
        return
    _link(name, name, span.start, span.end)
    with st.container(border=True):
        st.html(in_document(document, span, chunk_ids, fold=fold))


def in_document(document: Document, span: Span, chunk_ids: Sequence[str] = (), *, fold: int | None = None) -> str:
    """Return a span with the text around it as HTML, and which part of it the given chunks hold."""
    start, end = around(document.text, (span.start, span.end), 90 if document.language == "zh" else 220)
    places = filter(None, map(Chunk.parse_id, chunk_ids))
    start += len(document.text[start:end]) - len(document.text[start:end].lstrip())
    hits = [(first - start, last - start) for owner, first, last in places if owner == document.id]
    gold = [(span.start - start, span.end - start)]
    return highlighted(document.text[start:end].rstrip(), gold, hits, fold=fold, language=document.language)
