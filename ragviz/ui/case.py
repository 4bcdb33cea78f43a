"""A case: one question of a run, from the cause of its loss down to the sentence that a claim rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from ragviz.analysis import diagnose, evaluate
from ragviz.analysis.abstention import STATUSES
from ragviz.analysis.evaluate import Summary
from ragviz.core.configuration import Run
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer, Matrix
from ragviz.judging.steps import STEPS
from ragviz.metrics import registry
from ragviz.metrics.answers import ANSWER_METRICS, SUPPORTED
from ragviz.questions.question_types import said_of
from ragviz.runs import judgements, measurements, rescue_words
from ragviz.targets.targets import target_of
from ragviz.text.counts import first
from ragviz.text.markup import claimed, code, highlighted, legend, measure, plain
from ragviz.text.word_changes import Range
from ragviz.ui import cache, passages, wording
from ragviz.ui.claim_marks import (
    Chosen,
    by_passages,
    claim_buttons,
    claims_of,
    passage_note,
    pressed,
    said_in,
    verdict_words,
)
from ragviz.ui.kit import heading, notices
from ragviz.ui.passages import Note

STYLE = """<style>
.st-key-case-texts [data-testid="stColumn"] { min-width: 280px; }
.st-key-case-below [data-testid="stColumn"] { min-width: 300px; }
.st-key-case-reference mark.against.begins::before { content: "≠ "; }
[class*="st-key-claims-"] button, [class*="st-key-claims-"] button > div { justify-content: flex-start; }
[class*="st-key-claims-"] button { padding: .2rem .55rem; }
[class*="st-key-claims-"] button p { text-align: left; font-size: .88rem; line-height: 1.4; }
.rv-anchor { scroll-margin-top: 5rem; }
.rv-jumps { display: flex; flex-wrap: wrap; gap: .2rem .9rem; font-size: .88rem; margin: 0; }
.rv-jumps a { color: color-mix(in srgb, #0072B2 70%, currentColor); }
.st-key-case-reference .rv-text mark:is(.contradicted, .absent) {
  border-bottom-color: color-mix(in srgb, currentColor 60%, transparent); }
</style>"""
"""Nothing scrolls by itself: panes are as high as what they hold, and links lead to the cards of the ranking."""
ROLES = {"system": "System", "user": "User", "assistant": "Assistant"}
SUPPORTS = ("for", "no evidence, but supports the whole reference")
"""Badge of a chunk that is not gold, and that the judge says supports every claim of the reference."""
EVIDENCE_FOLD = 70
"""Characters of a document that are shown on each side of the evidence; the rest is folded."""


def cause_line(run: Run, judgement: judgements.Judgement, question: Question, retrieved: Retrieved, k: int) -> None:
    """Draw the cause of this question's loss with the next step, in one line; what it means is behind its "?"."""
    found = cause_of(run, question.id, k)
    with st.container(border=True, gap="xxsmall"):
        if found is None:
            st.markdown("**Not answered yet.** Next: resume the run; it was interrupted before this question.")
            return
        name, cause = found
        mark = ":blue[●]" if name == "fine" else ":orange[▲]"
        step = cause.next_step
        if step == diagnose.REPLAY and question.id in (ids := cache.summary(run, k).question_ids):
            place = ids.index(question.id)
            step = f"{plain(rescue_words.rescuing_one(cache.replay_columns(run), cache.rescue(run, k), place))}."
        next_step = "" if name == "fine" else f" Next: {step}"
        st.markdown(f"{mark} **{cause.title}.**{next_step}", help=cause.explanation)
        evaluated = cache.evaluated_to(run, question.id)
        rank = rank_line(run, question, retrieved, k)
        config = run.config
        given = first(config.k, "chunk") if run.knows.first_k else target_of(run).basis
        given = f"what fitted of {given}" if run.knows.first_k and evaluated and evaluated.recording.cut else given
        by = judgements.answered_words(run) if run.knows.answers else ""
        by += f" from {given}" if by and not run.knows.opaque else ""
        judge = f"judged by {config.judge}" if config.judge else ""
        ruling = judgement.rulings.get(question.id, diagnose.UNDECIDED)
        decided = judgements.decided_by(ruling)
        verdict = {True: "Correct", False: "Incorrect", None: "Correctness unknown"}[ruling.right]
        words = [rank, f"{verdict}, by {decided}" if decided else "", plain(by), plain(judge)]
        st.caption(" · ".join(filter(None, words)))
        if chosen_here := measurements.chosen_words(run):
            st.caption(f":orange[▲] {plain(chosen_here)}")


def cause_of(run: Run, question_id: str, k: int) -> tuple[str, diagnose.Cause] | None:
    """Return the cause of a question's loss at `k`, by name and in words; None when it was not reached."""
    name = cache.causes(run, k).get(question_id)
    if name is None:
        return None
    question, judgement = cache.questions(run)[question_id], cache.overview(run).judgement
    evaluated = cache.evaluated_to(run, question_id)
    claims = evaluated is not None and evaluated.matrix.answer_claims is not None
    return name, judgements.meaning_of(run, name, k, claims=claims, question=question, judgement=judgement)


def rank_line(run: Run, question: Question, retrieved: Retrieved, k: int) -> str:
    """Return where the evidence stands, in words; "" where there is none, or it is not known."""
    if not question.evidence or not run.knows.ranking:
        return ""
    return f"Evidence: {evidence_words(retrieved, k, run.config.depth)}"


def body(run: Run, question: Question, retrieved: Retrieved, k: int, claim: Chosen | None) -> None:
    """Draw answer, reference and evidence side by side, and below them the ranking and the scores."""
    evaluated = cache.evaluated_to(run, question.id)
    st.html(STYLE)
    texts(run, question, retrieved, evaluated, k, claim)
    with st.container(key="case-below"):
        left, right = st.columns([2, 1], gap="medium")
        with left, st.container(key="case-ranking", gap="small"), notices.errors_shown():
            ranking(run, question, retrieved, evaluated, k, claim)
        with right, notices.errors_shown():
            scores(cache.summary(run, k), question.id, cache.scores_of(run, question.id), evaluated)
            if evaluated is None or not run.knows.answers:
                st.caption("This run has no answers: make one with an answerer to have answers judged.")
    if claim and pressed(claim):
        heading.scroll_by(_TO_WHAT_IS_LIT, f"{question.id} {claim}")  # who opens a link sees the question first


def texts(
    run: Run, question: Question, retrieved: Retrieved, evaluated: EvaluatedAnswer | None, k: int, claim: Chosen | None
) -> None:
    """Draw answer, reference and evidence side by side, those that are known."""
    matrix = evaluated.matrix if evaluated else Matrix()
    if question.evidence and run.knows.ranking:
        st.html(legend([("gold", "evidence"), ("hit", f"in {first(k, 'chunk')}")]))
    with st.container(key="case-texts"):
        parts = [partial(reference_text, question, matrix, claim, ranked=run.knows.ranking)]
        if run.knows.answers:
            parts.insert(0, partial(answer_text, evaluated, claim))
        if run.knows.ranking:
            parts.append(partial(evidence, run, question, retrieved, k))
        for column, part in zip(st.columns(len(parts), gap="medium"), parts, strict=True):
            with column, notices.errors_shown():
                part()


def reference_text(question: Question, matrix: Matrix, claim: Chosen | None, *, ranked: bool = True) -> None:
    """Draw the reference answer with its claims; `ranked` is whether it is known where its evidence stands."""
    if question.history:
        heading.section("Earlier in the conversation")
        for asked, answered in question.history:
            st.markdown(f"{plain(asked)}  \n{plain(answered)}")
    heading.section("Reference answer")
    with st.container(key="case-reference", gap="small"):
        if question.answer:
            said = said_in(question.answer, matrix, "r", claim)
            st.html(claimed(question.answer, said, verdicts=verdict_words(matrix, "r"), language=question.language))
            claim_buttons(matrix, "r", claim)
        else:
            none = "None: the documents do not answer this question." if question.kind == "unanswerable" else "None."
            st.caption(none)
        kind = evaluate.KIND_TITLES[question.kind]
        described = " · ".join([*([kind] if ranked else []), *said_of(question)])
        st.caption(
            f"{f'{described} · ' if described else ''}generator {plain(question.generator)} · id {plain(question.id)}"
        )


def answer_text(evaluated: EvaluatedAnswer | None, claim: Chosen | None) -> None:
    """Draw the generated answer with its claims, its citations, and why there is none."""
    status = evaluated.recording.status if evaluated else "answered"
    heading.section(f"Generated answer{'' if status == 'answered' else f' · {STATUSES[status]}'}")
    with st.container(key="case-answer", gap="small"):
        answer_body(evaluated, claim)
        if evaluated:
            claim_buttons(evaluated.matrix, "a", claim)
            if evaluated.matrix.answer_claims is None and status == "answered":
                st.caption("No claims: the answer was not judged by a model.")


def answer_body(
    evaluated: EvaluatedAnswer | None, claim: Chosen | None = None, marks: Sequence[Range] | None = None
) -> None:
    """Draw an answer with its claims, or with `marks`, the words that differ from another one; and what it cites."""
    if evaluated is None:
        st.caption("Not answered yet: the run was interrupted before this question.")
        return
    answer, matrix = evaluated.recording, evaluated.matrix
    if marks is not None and answer.status != "answered":
        st.markdown(f"**{STATUSES[answer.status].capitalize()}**")
    if marks is not None and answer.answer:
        st.html(highlighted(answer.answer, differing=marks, fold=None))
    elif answer.answer:
        said = said_in(answer.answer, matrix, "a", claim)
        st.html(claimed(answer.answer, said, verdicts=verdict_words(matrix, "a")))
    if answer.reason:
        st.caption(plain(f"Why: {answer.reason}"))
    if answer.citations:
        st.caption(f"cites {', '.join(map(str, answer.citations))}")
    if answer.wrong_citations:
        wrong = ", ".join(map(str, answer.wrong_citations))
        st.caption(f":orange[▲] cites {wrong}, which were not in its context")


def evidence(run: Run, question: Question, retrieved: Retrieved, k: int) -> None:
    """Draw the evidence in its documents with the rank at which it stands, of a miss too."""
    where = f" · {evidence_words(retrieved, k, run.config.depth)}" if question.evidence else ""
    heading.section(f"Evidence{where}")
    with st.container(key="case-evidence", gap="small"):
        passages.evidence_groups(run.corpus_id, question, retrieved, k=k, depth=run.config.depth, fold=EVIDENCE_FOLD)


def evidence_words(retrieved: Retrieved, k: int, depth: int) -> str:
    """Return where the evidence stands, in words: its rank, or how many of its passages are found at k.

    >>> from ragviz.core.ranking import Ranking
    >>> evidence_words(Retrieved("q", Ranking(("a", "b"), (2.0, 1.0)), (("a",), ("b",), ("c",))), 1, 50)
    '1 of 3 passages found at 1'
    """
    if len(retrieved.gold) == 1:
        return passages.rank_words(retrieved, 0, k, depth)
    found = sum(not set(gold).isdisjoint(retrieved.ranking.ids[:k]) for gold in retrieved.gold)
    return f"{found} of {len(retrieved.gold)} passages found at {k}"


def ranking(
    run: Run, question: Question, retrieved: Retrieved, evaluated: EvaluatedAnswer | None, k: int, claim: Chosen | None
) -> None:
    """Draw the ranking, or the chunks given without one, with what the judge and the budget said of each chunk."""
    knows, title = run.knows, f"Ranking by {plain(run.config.ranked_by)}"
    title += ", not given as context (closed book)" if knows.closed_book else ""
    title = "Contexts that it read" if knows.opaque else title
    heading.section("Evidence chunks, given as context" if knows.gold_read else title)
    if claim:
        lit = [("gold", "evidence")] if knows.ranking else []
        st.html(legend([*lit, ("for", "supports the claim"), ("against", "contradicts it")]))
    context = evaluated.recording.read if evaluated and (run.knows.answers or knows.opaque) else ()
    notes = chunk_notes(evaluated if run.knows.answers else None, claim)
    if not knows.gold_read:
        _, judged = measurements.of_questions(cache.workspace(), run, [question])
        gold = {chunk_id for group in retrieved.gold for chunk_id in group}
        for chunk_id in judged[question.id].supporting - gold if question.id in judged else ():
            note = notes.get(chunk_id, Note())
            notes[chunk_id] = Note((SUPPORTS, *note.badges), note.claim_verdict)
    if knows.gold_read or knows.opaque:
        asked = question if knows.ranking else replace(question, evidence=())
        passages.given_chunks(run.corpus_id, asked, context, notes)
    else:
        passages.ranked_chunks(run, question, retrieved, k, notes)


def chunk_notes(evaluated: EvaluatedAnswer | None, claim: Chosen | None) -> dict[str, Note]:
    """Return by chunk what the budget cut, and the judge's verdicts."""
    if evaluated is None:
        return {}
    context = evaluated.recording.read
    notes = {
        chunk_id: Note((("against", "truncated in the context" if chunk_id in context else "truncated from context"),))
        for chunk_id in evaluated.recording.cut
    }
    for place, chunk_id in enumerate(evaluated.matrix.chunks):
        before = notes.get(chunk_id, Note()).badges
        notes[chunk_id] = passage_note(evaluated.matrix, place, claim, before)
    return notes


def scores(
    summary: Summary, question_id: str, of_answer: Mapping[str, Score], evaluated: EvaluatedAnswer | None
) -> None:
    """Draw the metrics of a question's ranking, where it has any, and those of its answer, a judge's first."""
    if question_id in summary.question_ids:
        row = summary.question_ids.index(question_id)
        heading.section(f"Ranking metrics at k = {summary.k}")
        columns = {name: registry.label(name, summary.k) for name in ("recall", "precision", "ndcg", "mrr")}
        rows = [
            measure(
                registry.title_of(column), float(summary.scores[column][row]), "", "",
                [registry.METRICS[name].explanation],
            )
            for name, column in columns.items()
            if column in summary.scores
        ]  # fmt: skip
        st.html("".join(rows))
    for title, judged in (("Judged metrics", True), ("Lexical and embedding metrics", False)):
        if chosen := [score for name, score in of_answer.items() if ANSWER_METRICS[name].judged == judged]:
            heading.section(title)
            rows = []
            for score in chosen:
                metric = ANSWER_METRICS[score.metric]
                steps = ", ".join(STEPS[step].title.lower() for step in metric.steps)
                computed = [f"Computed from: {steps} (see the tab Judge calls)."] if steps else []
                more = [metric.explanation, *computed, f"Version {score.version}."]
                why = score.reason or (reason(score.metric, evaluated) if evaluated and score.value is not None else "")
                rows.append(measure(metric.title, score.value, evaluate.STATUS_WORDS[score.status], why, more))
            st.html("".join(rows))


def reason(name: str, evaluated: EvaluatedAnswer) -> str:
    """Return the counts that a score is computed from, in words; "" for metrics that count nothing."""
    matrix = evaluated.matrix
    if name == "equivalence":
        return f"{evaluated.equivalence}: {evaluated.equivalence_reason}" if evaluated.equivalence_reason else ""
    if name in ("faithfulness", "context_recall"):
        side = "a" if name == "faithfulness" else "r"
        verdicts = [by_passages(matrix, side, place) for place in range(len(claims_of(matrix, side)))]
        return f"{verdicts.count('supported')} of {wording.counted(len(verdicts), 'claim')} supported by a passage"
    if name in ("completeness", "factual_precision"):
        row = (matrix.reference_by_answer if name == "completeness" else matrix.answer_by_reference) or ()
        whose, other = ("reference's", "answer") if name == "completeness" else ("answer's", "reference")
        supported = sum(claim_verdict.verdict == "supported" for claim_verdict in row)
        return f"{supported} of the {whose} {wording.counted(len(row), 'claim')} in the {other}"
    if name.startswith("context_precision") and matrix.useful:
        ranks = ", ".join(str(n) for n, useful in enumerate(matrix.useful, start=1) if useful)
        return f"useful at rank {ranks}" if ranks else "none of them useful"
    if name == "embedding_faithfulness" and evaluated.sentence_similarity:
        supported = sum(cosine >= SUPPORTED for cosine in evaluated.sentence_similarity)
        of = wording.counted(len(evaluated.sentence_similarity), "sentence")
        return f"{supported} of {of} at {SUPPORTED} or more, the lowest {min(evaluated.sentence_similarity):.2f}"
    if name == "answer_relevancy":
        return "the answer is noncommittal" if evaluated.noncommittal else "; ".join(evaluated.asked_back or ())
    return ""


def judge_calls(question_id: str, evaluated: EvaluatedAnswer | None, run: Run) -> None:
    """Draw the calls in the order of the flow: a line each, which opens to the prompt and the reply."""
    if evaluated is None:
        st.caption("No model was asked about this question: the run did not answer or judge it.")
        return
    for step, why in evaluated.failures.items():
        st.warning(f"{STEPS[step].title}: {plain(why)}")
    retrieved = cache.retrieved_for(run, question_id)
    found = judgements.exchanges_of(cache.workspace(), run, retrieved, evaluated)
    if not found:
        made = (
            "what is judged of it came with it" if run.knows.opaque else "its answer and scores were made without one"
        )
        st.caption(f"No model was asked here about this question: {made}.")
        return
    heading.section("Judge calls")
    calls = [exchange.call for exchange in found]
    priced = [call.cost for call in calls if call.cost is not None]
    cost = f"\\${sum(priced):.4f}" if priced else "no price known"
    tokens = f"{sum(c.prompt_tokens for c in calls):,} input + {sum(c.completion_tokens for c in calls):,} output"
    seconds = sum(call.seconds for call in calls)
    st.markdown(f"**{wording.counted(len(calls), 'call')}** · {tokens} tokens · {seconds:.1f} s · {cost}")
    st.caption("A line opens to the prompt, built again from what the run stored, and the reply.")
    with st.container(gap="xsmall", key="judge-calls"):
        for exchange in found:
            call = exchange.call
            paid = "no price known" if call.cost is None else f"${call.cost:.4f}"
            words = [f"**{STEPS[call.step].title}**", plain(call.model), f"prompt version {plain(call.prompt)}"]
            words.append(f"{call.prompt_tokens:,} + {call.completion_tokens:,} tokens{', estimated' * call.estimated}")
            words += [f"{call.seconds:.1f} s", f"{plain(paid)}{', cached: not paid again' * call.cached}"]
            with st.expander(" · ".join(words)):
                if exchange.messages is None:
                    st.caption(f"The prompt cannot be shown: {exchange.why}.")
                for message in exchange.messages or ():
                    st.html(
                        f'<h3 class="rv-role">{ROLES.get(message["role"], "Message")}</h3>{code(message["content"])}'
                    )
                st.html(f'<h3 class="rv-role">Reply</h3>{code(exchange.call.raw)}')


_TO_WHAT_IS_LIT = """(() => {
    const panes = ['answer', 'reference', 'ranking'].map(name => document.querySelector('.st-key-case-' + name));
    const marks = panes.map(pane => pane && pane.querySelector('mark.for, mark.against, mark.own')).filter(Boolean);
    if (!marks.length) return;
    const lit = marks.map(mark => mark.getBoundingClientRect());
    const top = Math.min(...lit.map(box => box.top));
    const low = main.getBoundingClientRect().top + 70, high = window.innerHeight - 12;
    const bottom = Math.max(...lit.map(box => box.bottom).filter(each => each - top <= high - low));
    if (top < low) main.scrollBy(0, top - low);
    else if (bottom > high) main.scrollBy(0, bottom - high);
  })();"""
"""Scrolls so that the first highlighted sentence is seen, with as many as fit."""
