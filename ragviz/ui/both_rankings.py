"""The rankings of two runs for one question, next to each other: what moved, came and went between them."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence

import streamlit as st

from ragviz.analysis import moves
from ragviz.analysis.moves import Move
from ragviz.core.question import Question
from ragviz.core.ranking import Hit, Retrieved
from ragviz.core.run_info import Run
from ragviz.retrieval import search
from ragviz.retrieval.search import ChunkHit
from ragviz.runs import measurements
from ragviz.text.markup import plain, shortened, visible, without_middle
from ragviz.text.names import distinct
from ragviz.ui import cache, passages
from ragviz.ui.kit import heading
from ragviz.ui.passages import Note

LEAST = 5
"""Ranks that are shown at least; the evidence is shown at any rank."""
ROW, MIDDLE = 46, 72
"""Pixels of a row, and between the two rankings."""
_CUTTING = ("chunker", "chunk_size", "overlap", "chunker_options")

STYLE = f"""<style>
.rv-moves {{ display: grid; grid-template-columns: minmax(0, 1fr) {MIDDLE}px minmax(0, 1fr); font-size: .85rem; }}
.rv-moves h4 {{ font-size: .88rem; font-weight: 600; padding: 0 0 .3rem; margin: 0; overflow-wrap: anywhere; }}
.rv-moves .side {{ min-width: 0; }}
.rv-moves .row {{ height: {ROW}px; box-sizing: border-box; border-top: 1px solid rgba(128, 136, 148, .25);
  padding: .22rem .3rem; display: grid; grid-template-columns: 1.9rem minmax(0, 1fr); line-height: 1.3; }}
.rv-moves .row.gold {{ background: rgba(230, 159, 0, .2); }}
.rv-moves .row.below {{ border-top: 2px dashed rgba(128, 136, 148, .8); }}
.rv-moves .row b {{ font-variant-numeric: tabular-nums; }}
.rv-moves .row div {{ overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; }}
.rv-moves .row span {{ opacity: .85; }}
.rv-moves .up {{ color: color-mix(in srgb, #0072B2 75%, currentColor); font-weight: 600; }}
.rv-moves .down {{ color: color-mix(in srgb, #D55E00 75%, currentColor); font-weight: 600; }}
.rv-moves img {{ display: block; max-width: none; }}
</style>"""


def draw(runs: tuple[Run, Run], question: Question, k: int) -> None:
    """Draw the beginnings of both rankings side by side, joined where they rank the same text."""
    results = _results(runs, question)
    there, back = _moves(runs, results)
    heading.section("Both rankings")
    if not results[0].ranking.ids or not results[1].ranking.ids:
        st.caption("One of the runs retrieved nothing: there is nothing to compare.")
        return
    names = distinct([run.name for run in runs], 32)
    words = moves.words(there, back, k, (names[0], names[1]))
    if not _same_chunks(*runs):
        words += " They are cut differently: chunks are joined that share at least half of the shorter one."
    st.markdown(plain(words))
    st.html(STYLE + _drawn(runs, question, results, (there, back), k))


def in_full(runs: tuple[Run, Run], question: Question, k: int) -> None:
    """Draw the chunks of both rankings as cards, each with its move."""
    results = _results(runs, question)
    sides = _moves(runs, results)
    for place, column in enumerate(st.columns(2, gap="medium")):
        with column:
            _cards(runs[place], question, results[place], k, sides[place], runs[1 - place].config.depth, place == 1)


def _results(runs: tuple[Run, Run], question: Question) -> list[Retrieved]:
    return [cache.retrieved_for(run, question.id) for run in runs]


def _moves(runs: tuple[Run, Run], results: Sequence[Retrieved]) -> tuple[list[Move], list[Move]]:
    """Return where the chunks of the first ranking are in the second, and those of the second in the first."""
    first, second = (result.ranking for result in results)
    same = _same_chunks(*runs)
    return moves.moves(first, second, same_chunks=same), moves.moves(second, first, same_chunks=same)


def _same_chunks(first: Run, second: Run) -> bool:
    """Whether both runs rank chunks that were cut in the same way."""
    cuttings = [[run.provenance["index_config"].get(name) for name in _CUTTING] for run in (first, second)]
    return first.config.index == second.config.index or cuttings[0] == cuttings[1]


def _cards(
    run: Run, question: Question, result: Retrieved, k: int, side: Sequence[Move], other_depth: int, back: bool
) -> None:
    """Draw the chunks of a ranking; `back` is whether the moves of `side` lead back to the baseline."""
    heading.section(f"{plain(run.name)}: ranking by {plain(run.config.ranked_by)}")
    if unranked := measurements.unranked_words(run):
        st.caption(unranked)
    notes = {
        move.chunk_id: Note(((_stance(move, back=back), moves.move_words(move, other_depth, back=back)),))
        for move in side
    }
    passages.ranked_chunks(
        run.corpus_id, question, result, k=min(k, run.config.depth), first=LEAST, key=run.id, notes=notes
    )


def _stance(move: Move, *, back: bool) -> str:
    """Return the class of a move's badge: "for" where the other run ranks the text better, "against" where worse."""
    if move.other == move.rank:
        return ""
    if not move.other:
        return "for" if back else "against"
    return "for" if (move.other > move.rank) == back else "against"


def _drawn(
    runs: tuple[Run, Run],
    question: Question,
    results: Sequence[Retrieved],
    sides: tuple[Sequence[Move], Sequence[Move]],
    k: int,
) -> str:
    """Return both rankings as HTML, with a line from each chunk to where the same text is in the other one."""
    gold = [{chunk_id for group in result.gold for chunk_id in group} for result in results]
    ranks = [shown_ranks(result, golden, k) for result, golden in zip(results, gold, strict=True)]
    height = ROW * max(map(len, ranks))
    lines = []
    for move in sides[0]:
        if move.rank in ranks[0] and move.other in ranks[1]:
            ends = ranks[0].index(move.rank), ranks[1].index(move.other)
            lines.append(_line(*ends, lit=move.chunk_id in gold[0] or move.counterpart in gold[1]))
    parts = []
    for place, run in enumerate(runs):
        hits = [h for h in results[place].ranking.hits() if h.rank in ranks[place]]
        chunks = search.with_chunks(cache.workspace(), run.corpus_id, hits)
        by_rank = {move.rank: move for move in sides[place]}
        depth = runs[1 - place].config.depth
        rows = _rows(chunks, by_rank, gold[place], k, depth, question.language, back=place == 1)
        title = html.escape(visible(without_middle(run.name, 60)))
        parts.append((f"<h4>{title}</h4>", f'<div class="side">{"".join(rows)}</div>'))
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{MIDDLE}" height="{height}">{"".join(lines)}</svg>'
    data = base64.b64encode(svg.encode()).decode()  # st.html leaves out SVG that is written inline
    picture = f'<img src="data:image/svg+xml;base64,{data}" width="{MIDDLE}" height="{height}" alt="">'
    heads, columns = zip(*parts, strict=True)
    return (
        f'<div class="rv-moves">{heads[0]}<h4></h4>{heads[1]}{columns[0]}<div class="side">{picture}</div>'
        f"{columns[1]}</div>"
    )


def shown_ranks(result: Retrieved, gold: set[str], k: int) -> list[int]:
    """Return the ranks that are shown: the first `k` and two more, at least `LEAST`, and the first of each gold group.

    >>> from ragviz.core.ranking import Ranking
    >>> ranking = Ranking(tuple("abcdefghi"), tuple(range(9, 0, -1)))
    >>> shown_ranks(Retrieved("q", ranking, (("h", "i"), ("b",))), {"b", "h", "i"}, 3)
    [1, 2, 3, 4, 5, 8]
    """
    first = max(k + 2, LEAST)
    ranks = {chunk_id: rank for rank, chunk_id in enumerate(result.ranking.ids, start=1)}
    found = [min((ranks[i] for i in group if i in ranks), default=0) for group in result.gold]
    return sorted({*range(1, min(first, len(ranks)) + 1), *(rank for rank in found if rank)})


def _line(start: int, end: int, *, lit: bool) -> str:
    """Return a line between two rows; that of evidence is wide and in the colour of the evidence."""
    top, bottom = (ROW * place + ROW // 2 for place in (start, end))
    colour, width = ("#E69F00", 3) if lit else ("#8C8C8C", 1.5)
    third = MIDDLE // 2
    return (
        f'<path d="M 2 {top} C {third} {top}, {third} {bottom}, {MIDDLE - 2} {bottom}" fill="none" '
        f'stroke="{colour}" stroke-width="{width}"/>'
    )


def _rows(
    chunks: Sequence[ChunkHit],
    by_rank: Mapping[int, Move],
    gold: set[str],
    k: int,
    depth: int,
    language: str,
    *,
    back: bool,
) -> list[str]:
    """Return the rows of a ranking as HTML: rank, document and move, and how the chunk begins."""
    rows, last = [], 0
    for each in chunks:
        hit: Hit = each.hit
        move = by_rank[hit.rank]
        stance = {"for": "up", "against": "down"}.get(_stance(move, back=back), "")
        words = html.escape(moves.move_words(move, depth, back=back))
        classes = "row" + " gold" * (hit.chunk_id in gold) + " below" * (last <= k < hit.rank and last > 0)
        name = html.escape(visible(without_middle(each.document_name, 34)))
        page = f", page {each.chunk.page}" if each.chunk and each.chunk.page else ""
        text = html.escape(visible(shortened(each.chunk.text, 120))) if each.chunk else "Its document was removed."
        star = "★ " if hit.chunk_id in gold else ""
        lang = f' lang="{html.escape(language)}"' if language else ""
        rows.append(
            f'<div class="{classes}"><b>{hit.rank}</b><div><div>{star}{name}{page} · '
            f'<i class="{stance}" style="font-style: normal">{words}</i></div><div><span{lang} dir="auto">{text}</span>'
            f"</div></div></div>"
        )
        last = hit.rank
    return rows
