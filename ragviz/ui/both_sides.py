"""One question in two of the compared runs: answers with the words that differ, scores, rankings."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from ragviz.analysis import moves
from ragviz.analysis.abstention import STATUSES
from ragviz.analysis.moves import Move
from ragviz.core.question import Question
from ragviz.core.ranking import Hit, Retrieved
from ragviz.core.recording import Recording
from ragviz.core.run_info import Run
from ragviz.core.verdict import Matrix
from ragviz.metrics import registry
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.retrieval import search
from ragviz.retrieval.search import ChunkHit
from ragviz.runs import measurements, moved_questions
from ragviz.text import word_changes
from ragviz.text.markup import highlighted, legend, plain, shortened, visible, without_middle
from ragviz.text.names import distinct, short_names
from ragviz.text.word_changes import Range, differing
from ragviz.ui import (
    address,
    cache,
    case,
    compared_questions,
    passages,
)
from ragviz.ui.compared_runs import Compared
from ragviz.ui.kit import heading, notices, table
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


def pair_of(runs: Sequence[Run], k: int) -> Compared:
    """Return the pair of runs whose questions the page Compare lists: the first, and the one of the address."""
    of = cache.state(*(run.id for run in runs))
    comparison = cache.comparison(of, k)
    others, metrics = comparison.runs[1:], list(comparison.rows)
    other = address.readable("other", address.one_of(others), "a run that is compared with the first") or others[0]
    metric = address.readable("metric", address.one_of(metrics), f"one of {', '.join(metrics)}")
    return Compared(tuple(runs), comparison, metric or comparison.rule.primary, other, of)


def listed(runs: Sequence[Run], k: int) -> list[str]:
    """Return the questions to walk through: those that Compare lists, else all that the runs share."""
    if not any(st.query_params.get(name) for name in ("side", *compared_questions.CHOSEN)):
        return moved_questions.shared_questions(runs, cache.SOURCES)
    return list(compared_questions.listed(pair_of(runs, k)).ids)


def chosen_side(runs: Sequence[Run]) -> Run:
    """Draw the choice of the run whose details are shown."""
    names = [run.name for run in runs]
    name = st.segmented_control(
        "Run", names, required=True, label_visibility="collapsed",
        format_func=short_names(names, 32).__getitem__,
        **address.bound("of", names[0], address.one_of(names), "one of the runs shown"),
    )  # fmt: skip
    return next(run for run in runs if run.name == name)


def list_words(runs: Sequence[Run], k: int) -> str:
    """Return what the list is chosen by, in words; "" where it is all questions."""
    side = st.query_params.get("side", "")
    if not any(st.query_params.get(name) for name in ("side", *compared_questions.CHOSEN)):
        return ""
    pair = pair_of(runs, k)
    words = [f"{name} {chip}" for name, chip in compared_questions.listed(pair).chips.items()]
    if side in compared_questions.SIDES:
        words.append(f"{side} by {registry.title_of(pair.metric)}")
    return f"{', '.join(words)}, {pair.other} against {runs[0].name}" if words else ""


def shown_pair(runs: Sequence[Run]) -> tuple[Run, Run]:
    """Return the two runs that are shown side by side: the baseline, and the one chosen among more than two."""
    if len(runs) == 2:
        return runs[0], runs[1]
    names = [run.name for run in runs[1:]]
    short = short_names([run.name for run in runs], 40)
    name = address.choose("Run beside the baseline", names, "other", format_func=short.__getitem__)
    return runs[0], next(run for run in runs if run.name == name)


def body(runs: Sequence[Run], question_id: str, k: int) -> None:
    """Draw reference and evidence, then a column for each of two runs: cause, answer; their rankings; all scores."""
    question = cache.questions(runs[0])[question_id]
    st.html(case.STYLE)
    pair = shown_pair(runs)
    entries = [("gold", "evidence")] if question.evidence else []
    evaluated = [cache.evaluated_to(run, question_id) if run.knows.answers else None for run in pair]
    answers = [each.recording.answer if each else "" for each in evaluated]
    marks: tuple[Sequence[Range], Sequence[Range]] = ([], [])
    if all(answers):
        marks = differing(answers[0], answers[1])
        entries += [("differs", "words that the other answer does not have there")] if any(marks) else []
    if entries:
        st.html(legend(entries))
    for column, run, mark in zip(st.columns(2, gap="medium"), pair, marks, strict=True):
        with column, notices.errors_shown():
            _side(run, question_id, k, mark)
    if said := alike_words(answers, marks):
        st.caption(said)
    with st.container(key="case-texts"):
        left, right = st.columns(2, gap="medium")
        with left, notices.errors_shown():
            case.reference_text(question, Matrix(), None)
        with right, notices.errors_shown():
            heading.section("Evidence")
            with st.container(key="case-evidence", gap="small"):
                if question.evidence:
                    passages.evidence_groups(runs[0].corpus_id, question, titled=False, fold=case.EVIDENCE_FOLD)
                else:
                    st.caption(case.WITHOUT_EVIDENCE[question.kind])
    with notices.errors_shown():
        rankings(pair, question, k)
    with notices.errors_shown():
        score_table(runs, question_id, k)
    with notices.errors_shown():
        rankings_in_full(pair, question, k)


def alike_words(answers: Sequence[str], marks: tuple[Sequence[Range], Sequence[Range]]) -> str:
    """Say of two answers that they have the same words, or that they were compared in part; "" otherwise.

    >>> alike_words(["Yes.", "yes"], ([], [])), alike_words(["Yes", "No"], ([(0, 3)], [(0, 2)]))
    ('Both answers have the same words.', '')
    """
    if not all(answers):
        return ""
    if any(word_changes.word_count(answer) > word_changes.MOST for answer in answers):
        return f"Only the first {word_changes.MOST:,} words of each answer are compared."
    return "" if any(marks) else "Both answers have the same words."


def _side(run: Run, question_id: str, k: int, marks: Sequence[Range]) -> None:
    """Draw the cause of a run, where the evidence stands in it, and its answer."""
    question, retrieved = cache.questions(run)[question_id], cache.retrieved_for(run, question_id)
    heading.section(plain(run.name))
    if found := case.cause_of(run, question.id, k):
        mark = ":blue[●]" if found[0] == "fine" else ":orange[▲]"
        where = case.rank_line(run, question, retrieved, k)
        st.markdown(f"{mark} **{found[1].title}**{f' · {where}' if where else ''}", help=found[1].explanation)
    evaluated = cache.evaluated_to(run, question_id)
    if not run.knows.answers:
        st.caption("This run has no answers.")
    elif evaluated is None:
        st.caption("Not answered yet: the run was interrupted before this question.")
    else:
        _answer_text(evaluated.recording, marks)
    more = "claims and verdicts" if case.has_claims(run, question_id) else "ranking and scores"
    address.link("inspect", f"Only {run.name}: {more}", run=run.name, question=question_id, k=k)


def _answer_text(answer: Recording, marks: Sequence[Range]) -> None:
    """Draw an answer with the words that differ, its status where it is none, and what it cites."""
    if answer.status != "answered":
        st.markdown(f"**{STATUSES[answer.status].capitalize()}**")
    if answer.answer:
        st.html(highlighted(answer.answer, differing=marks, fold=None))
    elif answer.status == "answered":
        st.caption("The answer is empty.")
    if answer.reason:
        st.caption(plain(f"Why: {answer.reason}"))
    if citations := case.citation_words(answer):
        st.caption(citations)


def score_table(runs: Sequence[Run], question_id: str, k: int) -> None:
    """Draw every score that one of the runs has, one row each; with two runs, their difference too."""
    names, scores = [run.name for run in runs], [scores_of(run, question_id, k) for run in runs]
    titles = list(dict.fromkeys(title for each in scores for title in each))
    if not titles:
        return
    rows = pd.DataFrame({"Metric": titles})
    for name, each in zip(names, scores, strict=True):
        rows[name] = pd.array([each.get(title) for title in titles], dtype="Float64")
    if len(runs) == 2:
        rows["Difference"] = rows[names[1]] - rows[names[0]]
    above = table.row_above("both")
    with above:
        heading.section("Scores")
    columns = {
        name: st.column_config.NumberColumn(short, format="%.2f") for name, short in short_names(names, 24).items()
    }
    columns["Difference"] = st.column_config.NumberColumn(format="%+.2f")
    table.draw(
        rows, "both", alt="Scores of the question in each run", above=above, file=f"{question_id}-scores",
        columns=columns, most=11, empty="–",
    )  # fmt: skip


def scores_of(run: Run, question_id: str, k: int) -> dict[str, float | None]:
    """Return the scores of a question in a run by title, ranking metrics at `k` first; None: not scored."""
    summary = cache.summary(run, k)
    values: dict[str, float | None] = {}
    if question_id in summary.question_ids:
        row = summary.question_ids.index(question_id)
        for name in ("recall", "precision", "mrr"):
            values[registry.title(name, k)] = float(summary.scores[registry.label(name, k)][row])
    return values | {
        ANSWER_METRICS[name].title: score.value for name, score in cache.scores_of(run, question_id).items()
    }


# Both rankings


def rankings(runs: tuple[Run, Run], question: Question, k: int) -> None:
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


def rankings_in_full(runs: tuple[Run, Run], question: Question, k: int) -> None:
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
