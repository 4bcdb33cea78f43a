import re
from collections.abc import Sequence

import streamlit as st

from ragviz.analysis import diagnose
from ragviz.answers import contexts
from ragviz.judging.context import follows
from ragviz.judging.steps import STEPS
from ragviz.judging.texts import sentences_of
from ragviz.metrics import questeval
from ragviz.metrics.answers import ANSWER_METRICS, SUPPORTED
from ragviz.records import Bank, Call, Claim, ClaimVerdict, EvaluatedAnswer, Matrix, Question, Retrieved, Run, Score
from ragviz.runs import judgements
from ragviz.text.markup import SIGNS, MarkedSentence, claimed, legend, measure, plain, quest_table, visible
from ragviz.ui import address, cache, frame, heading, question_table, widgets, wording
from ragviz.ui.passages import Note, given_chunks, lit_in, ranked_chunks

VERBS = {"supported": "supports", "together": "jointly supports", "contradicted": "contradicts"}
WORDS = {"supported": "supported", "contradicted": "contradicted", "absent": "not found"}
SIDES = {"a": "answer", "r": "reference"}

workspace = frame.begin()
store = workspace.store


# The cause of loss


def cause_line(run: Run, judgement: judgements.Judgement, question: Question) -> None:
    """Draw the cause of this question's loss, what it means, and the next step."""
    cause = diagnose.about(judgement.causes[question.id], run.config.context)
    fine = judgement.causes[question.id] == "fine"
    with st.container(border=True, gap="xxsmall"):
        mark = ":blue[●]" if fine else ":orange[▲]"
        st.markdown(f"{mark} **{cause.title}.** {cause.explanation}{'' if fine else f' *Next:* {cause.next_step}'}")
        st.caption(" · ".join(filter(None, [ruling_words(judgement, question), plain(context_words(run))])))


def ruling_words(judgement: judgements.Judgement, question: Question) -> str:
    ruling = judgement.rulings.get(question.id, diagnose.Ruling(None))
    by = ANSWER_METRICS[ruling.by].title if ruling.by in ANSWER_METRICS else BY.get(ruling.by, "")
    verdict = {True: "Correct", False: "Incorrect", None: "Correctness unknown"}[ruling.right]
    return f"{verdict}, by {by[0].lower() + by[1:] if by in BY.values() else by}" if by else ""


BY = {
    "reference_in_answer": "The reference's words in the answer",
    "refusal": "Whether a refusal was expected",
    "failed": "A failed answer",
    "judge_failed": "A failed judge",
}


def context_words(run: Run) -> str:
    config = run.config
    given = f"the first {config.k} chunks" if config.context == "retrieved" else contexts.CONTEXTS[config.context]
    by = f"answered by {config.model or config.answerer} from {given}" if question_table.answers(run) else ""
    return " · ".join(filter(None, [by, f"judged by {config.judge}" if config.judge else ""]))


# Claims


def chosen_claim(matrix: Matrix) -> tuple[str, int] | None:
    """Return side ("a", "r") and position of the claim in the address, None when there is no such claim."""

    def read(text: str) -> tuple[str, int] | None:
        match = re.fullmatch(r"([ar])([0-9]{1,3})", text)
        exists = match is not None and int(match[2]) < len(claims_of(matrix, match[1]))
        return (match[1], int(match[2])) if match is not None and exists else None

    return address.readable("claim", read, "a claim of this answer (a0, a1 …) or of its reference (r0, r1 …)")


def claims_of(matrix: Matrix, side: str) -> Sequence[Claim]:
    return (matrix.answer_claims if side == "a" else matrix.reference_claims) or ()


def by_passages(matrix: Matrix, side: str, place: int) -> str | None:
    """Return the verdict of all passages on a claim: supported when one supports it, or several do jointly."""
    rows = matrix.answer_by_chunk if side == "a" else matrix.reference_by_chunk
    if rows is None:
        return None
    if follows(rows[place]):
        return "supported"
    return "contradicted" if any(claim_verdict.verdict == "contradicted" for claim_verdict in rows[place]) else "absent"


def by_other(matrix: Matrix, side: str, place: int) -> ClaimVerdict | None:
    """Return the reference's verdict on a claim of the answer, or the answer's on one of the reference."""
    row = matrix.answer_by_reference if side == "a" else matrix.reference_by_answer
    return None if row is None else row[place]


def verdict_of(matrix: Matrix, side: str, place: int) -> str | None:
    """Return the verdict that underlines a claim: the passages' on the answer's, the answer's on the reference's."""
    other = by_other(matrix, side, place)
    verdicts = (by_passages(matrix, side, place), other.verdict if other else None)
    return next((v for v in (verdicts if side == "a" else verdicts[::-1]) if v), None)


def said_in(text: str, matrix: Matrix, side: str, claim: tuple[str, int] | None) -> list[MarkedSentence]:
    """Return the sentences of answer or reference with their claims; those on the chosen claim are highlighted."""
    claims, marks = claims_of(matrix, side), []
    claim_verdict = by_other(matrix, *claim) if claim and claim[0] != side else None
    for place, (start, end) in enumerate(sentences_of(text)):
        own_claims = [n for n, each in enumerate(claims) if each.sentence == place]
        own = bool(claim) and claim is not None and claim[0] == side and claim[1] in own_claims
        lit = next((name for s, _, name in lit_in(text, claim_verdict) if s == start), "")
        verdicts = tuple((n + 1, verdict_of(matrix, side, n)) for n in own_claims)
        marks.append(MarkedSentence(start, end, verdicts, own, lit))
    return marks


def claim_buttons(matrix: Matrix, side: str, claim: tuple[str, int] | None) -> None:
    """Draw every claim with its verdict; a click highlights what it rests on, a second click removes that."""
    with st.container(key=f"claims-{side}", gap="xxsmall"):
        for place, each in enumerate(claims_of(matrix, side)):
            is_chosen = claim == (side, place)
            sign = SIGNS.get(verdict_of(matrix, side, place) or "", "")
            if st.button(
                f"{place + 1} {sign} {plain(each.text)}", key=f"claim-{side}{place}", width="stretch",
                type="primary" if is_chosen else "tertiary", help=claim_words(matrix, side, place), wrap=True,
            ):  # fmt: skip
                address.put(claim=None if is_chosen else f"{side}{place}")
                st.rerun()
            if is_chosen:
                st.caption(claim_words(matrix, side, place))


def claim_words(matrix: Matrix, side: str, place: int) -> str:
    """Return the verdicts on a claim in words: passages, and reference or answer."""
    passages, other = by_passages(matrix, side, place), by_other(matrix, side, place)
    parts = [f"Passages: {WORDS[passages]}" if passages else "", where_words(matrix, side, place)]
    parts.append(f"{'reference' if side == 'a' else 'answer'}: {WORDS[other.verdict]}" if other else "")
    return " · ".join(filter(None, parts)) or "Not judged"


def where_words(matrix: Matrix, side: str, place: int) -> str:
    rows = matrix.answer_by_chunk if side == "a" else matrix.reference_by_chunk
    numbers = [str(n) for n, b in enumerate(rows[place] if rows else (), start=1) if b.verdict != "absent"]
    together = "jointly " if rows and any(b.verdict == "together" for b in rows[place]) else ""
    return f"{together}by passage {', '.join(numbers)}" if numbers else ""


# The three columns


def texts(run: Run, question: Question, evaluated: EvaluatedAnswer | None, claim: tuple[str, int] | None) -> None:
    matrix = evaluated.matrix if evaluated else Matrix()
    if any(claims_of(matrix, side) for side in SIDES):
        st.html(legend([("supported", "✓ supported"), ("contradicted", "✗ contradicted"), ("absent", "○ not found")]))
    st.markdown("**Reference answer**")
    if question.answer:
        st.html(claimed(question.answer, said_in(question.answer, matrix, "r", claim), language=question.language))
        claim_buttons(matrix, "r", claim)
    else:
        st.caption("None: the documents do not answer this question." if question.kind == "unanswerable" else "None.")
    if not question_table.answers(run):
        st.caption("This run has no answers: make one with an answerer to have answers judged.")
        return
    answer_text(evaluated, claim)


def answer_text(evaluated: EvaluatedAnswer | None, claim: tuple[str, int] | None) -> None:
    answer = evaluated.answer if evaluated else None
    st.markdown(f"**Generated answer**{f' · {answer.status}' if answer else ''}")
    if evaluated is None or answer is None:
        st.caption("Not answered yet: the run was interrupted before this question.")
        return
    if answer.text:
        st.html(claimed(answer.text, said_in(answer.text, evaluated.matrix, "a", claim)))
    if answer.reason:
        st.caption(plain(f"Why: {answer.reason}"))
    claim_buttons(evaluated.matrix, "a", claim)
    citations = [f"cites {', '.join(map(str, answer.citations))}"] if answer.citations else []
    if answer.wrong_citations:
        citations.append(
            f":orange[▲] cites {', '.join(map(str, answer.wrong_citations))}, which were not in its context"
        )
    if citations:
        st.caption(" · ".join(citations))
    if evaluated.matrix.answer_claims is None and answer.status == "answered":
        st.caption("No claims: the answer was not judged by a model. Lexical and embedding metrics are on the right.")


def passages(
    run: Run, question: Question, retrieved: Retrieved, evaluated: EvaluatedAnswer | None, claim: tuple[str, int] | None
) -> None:
    answer, config = (evaluated.answer if evaluated and question_table.answers(run) else None), run.config
    st.markdown({"retrieved": f"**Ranking** by {config.retriever}",
                 "none": "**Ranking**, not given as context (closed book)",
                 "oracle": "**Gold chunks**, given as context"}[config.context])  # fmt: skip
    entries = [("gold", "evidence")]
    st.html(legend([*entries, ("for", "supports the claim"), ("against", "contradicts it")] if claim else entries))
    context = answer.context if answer else ()
    cut = answer.cut if answer else ()
    notes = {chunk_id: Note(cut_badge(chunk_id, context)) for chunk_id in cut}
    for place, chunk_id in enumerate(evaluated.matrix.chunks if evaluated else ()):
        old = notes.get(chunk_id, Note()).badges
        notes[chunk_id] = passage_note(evaluated.matrix, place, claim, old) if evaluated else Note()
    if config.context == "oracle":
        given_chunks(run.corpus_id, question, context, notes)
    else:
        key = f"inspect-{run.id}"
        ranked_chunks(
            run.corpus_id, question, retrieved, k=config.k, first=max(config.k, 3), key=key, narrow=True, notes=notes
        )
    address.link("results", "Full ranking and evidence", run=run.name, k=config.k, question=question.id, view="ranking")


def cut_badge(chunk_id: str, context: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return (("against", "truncated by the context budget" if chunk_id in context else "cut by the context budget"),)


def passage_note(
    matrix: Matrix, place: int, claim: tuple[str, int] | None, badges: tuple[tuple[str, str], ...]
) -> Note:
    """Return the judge's verdicts on a passage: useful or not, and its verdict on the chosen claim."""
    if matrix.useful is not None:
        badges = (("for", "✓ useful") if matrix.useful[place] else ("", "○ not useful"), *badges)
    if claim is None:
        return Note(badges)
    rows = matrix.answer_by_chunk if claim[0] == "a" else matrix.reference_by_chunk
    claim_verdict = rows[claim[1]][place] if rows else None
    if claim_verdict and claim_verdict.verdict != "absent":
        verb = VERBS[claim_verdict.verdict]
        where = "" if claim_verdict.sentence is None else f", sentence {claim_verdict.sentence + 1}"
        name = "against" if claim_verdict.verdict == "contradicted" else "for"
        badges = (*badges, (name, f"{SIGNS[claim_verdict.verdict]} {verb} claim {claim[1] + 1}{where}"))
    return Note(badges, claim_verdict)


def scores(question_id: str, judgement: judgements.Judgement, evaluated: EvaluatedAnswer | None) -> None:
    scores_of_question = {name: by[question_id] for name, by in judgement.scores.items() if question_id in by}
    for title, chosen in (
        ("Judged metrics", [name for name in scores_of_question if ANSWER_METRICS[name].judged]),
        ("Lexical and embedding metrics", [name for name in scores_of_question if not ANSWER_METRICS[name].judged]),
    ):
        if chosen:
            st.markdown(f"**{title}**")
            st.html("".join(score_row(scores_of_question[name], evaluated) for name in chosen))
    if not scores_of_question:
        st.markdown("**Scores**")
        st.caption("No answer metric was computed for this question.")


def score_row(score: Score, evaluated: EvaluatedAnswer | None) -> str:
    metric = ANSWER_METRICS[score.metric]
    more = [metric.explanation]
    if metric.steps:
        steps = ", ".join(STEPS[step].title.lower() for step in metric.steps)
        more.append(f"Computed from: {steps} (judge calls below).")
    more.append(f"Version {score.version}.")
    why = score.reason or (reason(score.metric, evaluated) if evaluated and score.value is not None else "")
    return measure(metric.title, score.value, question_table.STATUSES[score.status], why, more)


def step_title(name: str) -> str:
    return STEPS[name].title if name in STEPS else plain(name)  # an earlier version may have had others


def reason(name: str, evaluated: EvaluatedAnswer) -> str:
    """Return the counts that a score is computed from, in words."""
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
        supported_sentences = sum(cosine >= SUPPORTED for cosine in evaluated.sentence_similarity)
        of = wording.counted(len(evaluated.sentence_similarity), "sentence")
        return (
            f"{supported_sentences} of {of} at {SUPPORTED} or more, the lowest {min(evaluated.sentence_similarity):.2f}"
        )
    if name == "answer_relevancy":
        return "the answer is noncommittal" if evaluated.noncommittal else "; ".join(evaluated.asked_back or ())
    return ""


# RAGQuestEval and the judge's calls


def bank_table(title: str, bank: Bank, answers: Sequence[str | None]) -> None:
    """Draw every question of a bank with the answers of both texts, and the scores."""
    scores = questeval.measure(bank, answers)
    maker = {"extractive": "extracted without a model", "import": "imported"}.get(
        bank.maker, f"generated by {bank.maker}"
    )
    tongue = f", {wording.LANGUAGES[bank.language]}" if bank.language in ("en", "zh") else ""
    st.markdown(f"**{title}** · questions {plain(maker)}{tongue}")
    if not bank.items:
        st.caption("No questions: the reference holds no key information.")
        return
    st.caption(bank_words(scores))
    rows = zip(bank.items, answers, scores.f1, strict=True)
    st.html(quest_table([(item.question, item.answer, said, f1) for item, said, f1 in rows]))


def bank_words(scores: questeval.QuestEval) -> str:
    """Return recall and precision with both denominators, and the bank's quality, in words."""
    mean = f" = mean F1 of these {scores.answered}" if scores.answered else ": no question that both answer"
    return (
        f"Recall {number(scores.recall)} = {scores.answered} answered by the generated text ÷ {scores.answerable} that "
        f"the reference answers · precision {number(scores.precision)}{mean} · over all {scores.questions} asked: "
        f"recall {number(scores.recall_over_questions)}, precision {number(scores.precision_over_questions)} · "
        f"bank quality {number(scores.quality)} (share that the reference does not answer, 0 is best)"
    )


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def banks(evaluated: EvaluatedAnswer) -> None:
    if evaluated.bank is not None and evaluated.bank_answers is not None:
        bank_table("RAGQuestEval", evaluated.bank, evaluated.bank_answers)
    if evaluated.extractive_bank is not None and evaluated.extractive_bank_answers is not None:
        bank_table("RAGQuestEval, extractive", evaluated.extractive_bank, evaluated.extractive_bank_answers)


def replies(evaluated: EvaluatedAnswer) -> None:
    """Draw every call of a model about this question, with its raw reply."""
    for step, why in evaluated.failures.items():
        st.warning(f"{step_title(step)}: {plain(why)}")
    calls = judgements.calls_of(evaluated)
    if not calls:
        st.caption("No model was asked about this question.")
        return
    st.markdown(f"**Judge calls** · {wording.counted(len(calls), 'call')}")
    with st.container(gap="xsmall"):
        for call in calls:
            with st.expander(call_words(call)):
                st.code(visible(call.raw), language="json", wrap_lines=True)


def call_words(call: Call) -> str:
    cost = "no price known" if call.cost is None else f"${call.cost:.4f}"
    return " · ".join(
        [
            f"**{step_title(call.step)}**",
            plain(call.model),
            f"prompt version {plain(call.prompt)}",
            f"{call.prompt_tokens:,} + {call.completion_tokens:,} tokens",
            f"{call.seconds:.1f} s",
            f"{plain(cost)}{', cached: not paid again' if call.cached else ''}",
        ]
    )


# The page


corpus = frame.need_corpus()
runs = [run for run in store.runs(corpus.id) if run.status == "done"]
if not runs:
    heading.header("Inspect", "One question of one run, down to the sentence.")
    with widgets.nothing(f"No run of {plain(corpus.name)} is done yet."):
        address.link("run", "Make a run")
    st.stop()
name = address.chosen("run", [run.name for run in runs], noun="run")
run = next(run for run in runs if run.name == name)
depth = run.config.depth
k = (
    address.readable("k", address.number_within(1, depth), f"1 to {depth:,}; this run has {run.config.k:,}")
    or run.config.k
)
retrievals = cache.retrievals(run)
judgement = cache.judgement(run)
shown_ids = list(question_table.filtered(run, question_table.question_rows(run, k))["Id"])
requested = st.query_params.get("question")
if requested is not None and requested not in retrievals:
    st.warning(f"This run did not ask the question “{wording.quoted(requested)}”.")
question_id = requested if requested in retrievals else next(iter(shown_ids or retrievals))
address.settle("question", question_id)
with st.container(horizontal=True, vertical_alignment="center", gap="small"):
    with st.container(width="stretch"):
        heading.breadcrumb(
            [
                *heading.crumbs_of(run, corpus),
                ("results", run.name, {"run": run.name, "k": str(k), **question_table.filter_parameters()}),
            ]
        )
    next_question = question_table.walk(shown_ids, question_id)
    if st.button("All questions", shortcut="esc"):
        address.go_to("results", run=run.name, k=k, question=None, **question_table.filter_parameters())
if next_question:
    address.put(question=next_question, claim=None)
    st.rerun()
if filters := {name: value for name, value in question_table.filter_parameters().items() if name != "metric"}:
    titles = {name: diagnose.about(name, run.config.context).title for name in diagnose.CAUSES}
    words = [titles[v] if n == "cause" and v in titles else f"{n} {v}" for n, v in filters.items()]
    st.caption(f"Filter: {plain(', '.join(words))}")
question, retrieved = retrievals[question_id]
evaluated = judgement.evaluated.get(question_id)
claim = chosen_claim(evaluated.matrix if evaluated else Matrix())
heading.header(question.text)
if evaluated and judgement.controls is not None and not judgement.controls.reliable:
    st.warning(plain(judgement.controls.sentence))
with widgets.errors_shown():
    cause_line(run, judgement, question)
with st.container(key="inspected"):
    left, middle, right = st.columns([3, 4, 3], gap="medium")
    with left, widgets.errors_shown():
        texts(run, question, evaluated, claim)
    with middle, widgets.errors_shown():
        passages(run, question, retrieved, evaluated, claim)
    with right, widgets.errors_shown():
        scores(question_id, judgement, evaluated)
if evaluated:
    with widgets.errors_shown():
        banks(evaluated)
    with widgets.errors_shown():
        replies(evaluated)
heading.scroll_to_top(question_id)
