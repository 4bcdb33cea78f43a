"""The judgement of a run's answers: scores, causes and costs, summed up and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragviz.analysis import diagnose, doubts, evaluate, run_verdict
from ragviz.analysis.abstention import Abstention, abstention
from ragviz.analysis.doubts import Doubt
from ragviz.analysis.evaluate import Summary
from ragviz.analysis.run_verdict import Losses
from ragviz.core.call import Call, Paid
from ragviz.core.configuration import Run
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.recording import AnswerStatus, Recording
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.judging import controls, replay
from ragviz.judging.controls import Controls
from ragviz.metrics import answers as answer_metrics
from ragviz.metrics.registry import label
from ragviz.models.chat import ModelClient
from ragviz.models.requests import Usage, paid_words
from ragviz.runs import choices, contexts, control_items, measurements
from ragviz.targets import answering
from ragviz.targets.targets import target_of
from ragviz.text.counts import counted
from ragviz.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether the numbers of a run are reliable, and a sentence on each problem."""

    run: str
    problems: tuple[str, ...]
    controls: Controls | None

    @property
    def passed(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if self.problems:
            return f"Run '{self.run}' did not pass: {' '.join(self.problems)}"
        return f"Run '{self.run}' passed: {self.controls.sentence if self.controls else 'no judge was controlled.'}"


def check(workspace: Workspace, current: Run) -> Checked:
    """Check that a run is finished, that no step failed, and that its judge is reliable."""
    store, controlled, problems = workspace.store, control_items.controls_of(current), []
    if current.status != "done":
        problems.append("It is not finished.")
    if failed := sum(store.judgements.failed(current.id).values()):
        problems.append(
            f"A step failed for {failed} of {counted(len(store.rankings.questions(current.id)), 'question')}."
        )
    if unanswered := sum(current.provenance.get("unanswered", {}).values()):
        problems.append(f"{counted(unanswered, 'question')} got no answer.")
    if not_reranked := choices.not_reranked(current):
        problems.append(
            f"Reranking failed for {counted(len(not_reranked), 'question')}: {next(iter(not_reranked.values()))} Make "
            "the run again under another name: what came is cached."
        )
    if controlled is not None and not controlled.reliable:
        problems.append(controlled.sentence)
    return Checked(current.name, tuple(problems), controlled)


def judge_to_json(current: Run) -> dict[str, Any]:
    """Return who answered and who judged a run, the versions of the prompts and the verdicts on control items."""
    config, controlled = current.config, control_items.controls_of(current)
    judges: dict[str, Any] = {"model": config.judge, "host": controlled.host if controlled else None}
    judges["prompts"] = dict(controlled.prompts) if controlled else None
    version = answering.VERSIONS.get(config.answerer) if current.knows.again else None
    answers = {"answerer": config.answerer, "model": config.model, "version": version}
    return {
        "answerer": answers if current.knows.answers else None,
        "judge": judges | {"controls": controls.to_json(controlled) if controlled else None} if config.judge else None,
    }


def answered_words(current: Run) -> str:
    """Say who answered the questions of a run with answers.

    >>> from ragviz.core.configuration import RunConfig
    >>> answered_words(Run("r", "c", "r", RunConfig("i", "q", answerer="extractive"), "", {}, "done", 0, 0))
    'extractive answers'
    """
    own = current.knows.opaque or current.config.model
    return f"answered by {current.answered_by}" if own else f"{current.answered_by} answers"


def judge_words(current: Run) -> str:
    """Say who answered and who judged, by which prompts, or that no control item could be made; "" without a judge."""
    config, controlled = current.config, control_items.controls_of(current)
    if not config.judge:
        return ""
    words = f"{answered_words(current)} · judged" if current.knows.answers else "judged"
    words += f" by {config.judge}"
    if controlled is not None:
        prompts = ", ".join(f"{step} {version}" for step, version in controlled.prompts.items())
        return f"{words} at {controlled.host}{f' · prompts: {prompts}' if prompts else ''}"
    unchecked = current.status == "done" and not target_of(current).verdicts
    return words + (
        " · not checked by control items: these take questions with evidence and a reference" if unchecked else ""
    )


def calls_of(evaluated: EvaluatedAnswer) -> list[Call]:
    """Return every model call behind an evaluated answer: those of a bank made before, of the answer, of the judge."""
    own = [call for call in (evaluated.recording.usage, *evaluated.calls) if call is not None]
    if evaluated.bank is None or not evaluated.bank.calls:
        return own
    replies = {(call.step, call.raw) for call in own}
    return [*(call for call in evaluated.bank.calls if (call.step, call.raw) not in replies), *own]


def exchanges_of(
    workspace: Workspace, run: Run, retrieved: Retrieved, evaluated: EvaluatedAnswer
) -> list[replay.Exchange]:
    """Return every model call behind an evaluated answer with the messages that were sent; asks no model."""
    calls, question = calls_of(evaluated), evaluated.question
    if not calls:
        return []
    config, target = run.config, target_of(run)
    if target.hands_over is None:
        [item] = contexts.to_judge(workspace, run, [evaluated])
    else:
        [item] = contexts.to_answer(workspace, run.corpus_id, config, target, [(question, retrieved)])
    answerer, judge = (ModelClient(None, None, name) if name else None for name in (config.model, config.judge))
    cache = workspace.store.cache("bank")
    plan = choices.plan_of(config, (), cache, answerer=answerer, judge=judge or answerer, target=target)
    return replay.exchanges(evaluated, calls, item, plan)


def calls_behind(evaluated: EvaluatedAnswer, banks: set[tuple[str, str]]) -> list[Call]:
    """Return the calls behind an answer; those of a bank that several answers share, with the first of them only.

    `banks` are those of the answers before; its own is added.
    """
    bank = (evaluated.bank.maker, evaluated.question.answer) if evaluated.bank is not None else ("", "")
    bank_is_new = bank not in banks
    banks.add(bank)
    return [call for call in calls_of(evaluated) if bank_is_new or call.step != "bank"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The judgement of a run's answers without their texts: everything by question id, in the order of the questions.

    `statuses` are those of the answers, `failures` the steps that failed, of the questions with such a step. `metrics`
    are the means of the scores. `causes` says of every question where it was lost (a key of `diagnose.CAUSES`),
    `rulings` whether its answer is right. `usage` is what all model calls behind it cost when they were made, by any
    run; of these calls the prices of `priced` are known and those of `unpriced` are not. `paid` is what this run paid,
    for embeddings and failed calls too. `controls` is how the judge did on the control items, None when it was asked
    none. `doubts` are the questions to look at first: their scores contradict the words of their answers. `claims`
    says whether the claims of any answer were judged. `of_maker` are the means of what the program that wrote the
    recordings scored, on its own scales, by its name and theirs: "ragas: faithfulness".
    """

    statuses: Mapping[str, AnswerStatus]
    failures: Mapping[str, tuple[str, ...]]
    metrics: Mapping[str, evaluate.Scored]
    rulings: Mapping[str, diagnose.Ruling]
    causes: Mapping[str, str]
    abstention: Abstention
    usage: Usage
    paid: Paid
    controls: Controls | None
    priced: int
    unpriced: int
    doubts: tuple[Doubt, ...]
    claims: bool
    of_maker: Mapping[str, evaluate.Scored] = field(default_factory=dict)

    @property
    def failed(self) -> list[str]:
        """Questions of which a step failed: `rejudge` judges them again."""
        return list(self.failures)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeJudgement(Judgement):
    """A judgement with the recordings, by question id, and their scores, by metric and question id.

    `scores_of_maker` are those of the program that wrote the recordings, by its name and theirs.
    """

    recordings: Mapping[str, Recording]
    scores: Mapping[str, Mapping[str, Score]]
    scores_of_maker: Mapping[str, Mapping[str, Score]]


DECIDED_BY = {
    "reference_in_answer": "the reference's words in the answer",
    "refusal": "abstaining or not",
    "failed": "a failed answer",
    "judge_failed": "a failed judge",
}
"""What decided whether an answer is right, where no metric did."""


def decided_by(ruling: diagnose.Ruling) -> str:
    """Return what decided whether an answer is right: a metric's title, or words; "" when nothing did.

    >>> decided_by(diagnose.Ruling(True, "equivalence")), decided_by(diagnose.Ruling(False, "failed"))
    ('Equivalence', 'a failed answer')
    """
    metric = answer_metrics.ANSWER_METRICS.get(ruling.by)
    return metric.title if metric else DECIDED_BY.get(ruling.by, "")


def decided_words(judgement: Judgement) -> str:
    """Say what decided of how many answers whether they are right, and of how many what their contexts hold."""
    counts = Counter(filter(None, map(decided_by, judgement.rulings.values())))
    by = ", ".join(f"{what} ({count:,})" for what, count in counts.most_common())
    told = [f"correctness decided by {by}"] if by else []
    held = Counter(ruling.held_by for ruling in judgement.rulings.values())
    named = {"verdicts": "verdicts on claims", "words": "the reference's words"}
    of_contexts = ", ".join(f"{words} ({held[name]:,})" for name, words in named.items() if held[name])
    return "; ".join([*told, *([f"what the contexts hold by {of_contexts}"] if of_contexts else [])])


def cost_words(judgement: Judgement) -> str:
    """Say what a run paid, in the parts of its estimate; of one that paid nothing, what was paid before."""
    usage, paid = judgement.usage, judgement.paid
    if not usage.calls and not paid.calls:
        return "No model was asked: nothing was paid."
    shown = paid if paid.calls else usage.paid
    words = paid_words(shown, priced=bool(judgement.priced or shown.dollars))
    if judgement.priced and judgement.unpriced:
        words += f" ({judgement.unpriced:,} calls without a price)"
    if usage.estimated:
        words += f" (tokens of {usage.estimated:,} calls estimated: the endpoint reported none)"
    return f"Paid: {words}" if paid.calls else f"Paid: nothing; other runs paid {words}"


def judgement_of(
    workspace: Workspace, current: Run, *, retrieved: Sequence[tuple[Question, Retrieved]] | None = None
) -> WholeJudgement:
    """Sum up the answers of a run, at its own k; a run without answers has only causes, up to the ranking.

    The run's questions and results are read unless `retrieved` holds them.
    """
    store, config, knows = workspace.store, current.config, current.knows
    pairs = measurements.pairs_of(workspace, current) if retrieved is None else retrieved
    questions, results = [question for question, _ in pairs], [result for _, result in pairs]
    scores = measurements.scores_of(workspace, current)
    recordings: dict[str, Recording] = {}
    failures: dict[str, tuple[str, ...]] = {}
    rulings: dict[str, diagnose.Ruling] = {}
    doubtful: list[tuple[int, Doubt]] = []
    of_maker: dict[str, dict[str, Score]] = {}
    banks: set[tuple[str, str]] = set()
    usage, unpriced, claims = Usage(), 0, False
    for evaluated in store.judgements.of(current.id, questions, workspace.settings.keys):
        question_id = evaluated.question.id
        recordings[question_id] = evaluated.recording
        if evaluated.failures:
            failures[question_id] = tuple(evaluated.failures)
        if knows.answers:
            rulings[question_id] = _ruling(current, evaluated, scores)
        if found := doubts.doubt(evaluated, scores):
            doubtful.append(found)
        for name, value in evaluated.scores_of_maker.items():
            of_maker.setdefault(name, {})[question_id] = Score(name, value, version="")
        for call in calls_behind(evaluated, banks):
            if not (knows.opaque and call.step == "answer"):
                usage += Usage.of([call])
                unpriced += call.cost is None
        claims |= evaluated.matrix.answer_claims is not None
    answers = recordings if knows.answers else {}
    if knows.answers:  # the rest of an interrupted run is not known
        results = [result for result in results if result.question_id in answers]
    causes = diagnose.attribute_failures(questions, results, config.k, answers, rulings, knows=knows)
    # Of a question without known evidence an oracle handed over nothing.
    measured = [q for q in questions if not (knows.gold_read and q.kind == "reference") and not q.open]
    controlled = control_items.controls_of(current)
    return WholeJudgement(
        recordings=recordings,
        scores=scores,
        scores_of_maker=of_maker,
        statuses={question_id: each.status for question_id, each in recordings.items()},
        failures=failures,
        metrics=evaluate.summarise_scores(scores, questions, seed=config.seed),
        rulings=rulings,
        causes=causes,
        abstention=abstention(measured, answers.values()),
        usage=usage + controlled.usage if controlled else usage,
        paid=store.payments.of(current.id),
        controls=controlled,
        priced=usage.calls - unpriced,
        unpriced=unpriced,
        doubts=tuple(doubt for _, doubt in sorted(doubtful, key=lambda pair: -pair[0])),  # most contradictions first
        claims=claims,
        of_maker=evaluate.summarise_scores(of_maker, questions, seed=config.seed),
    )


def _ruling(current: Run, evaluated: EvaluatedAnswer, scores: Mapping[str, Mapping[str, Score]]) -> diagnose.Ruling:
    """Return whether an answer is right, and of another system's whether what it read holds the answer."""
    question = evaluated.question
    own = [by_question[question.id] for by_question in scores.values() if question.id in by_question]
    values = {score.metric: score.value for score in own if score.value is not None}
    failed = [score.metric for score in own if score.status == "judge_error"]
    ruling = diagnose.is_right(question, evaluated.recording, values, failed)
    if current.knows.opaque and current.knows.contexts:
        return diagnose.with_contexts(ruling, evaluated)
    return ruling


def answered_at(current: Run, k: int) -> bool:
    """Whether the causes of a run at `k` tell of its answers: these were given from its own k chunks.

    Those of a run that handed over gold chunks, or nothing, were given whatever the ranking: they count at every k.
    """
    return current.knows.answers and (k == current.config.k or not current.knows.first_k)


def meaning_of(
    current: Run,
    cause: str,
    k: int,
    *,
    claims: bool = False,
    question: Question | None = None,
    judgement: Judgement | None = None,
) -> diagnose.Cause:
    """Return what a cause means in a run of which the first `k` chunks are kept; `claims` as in `about`.

    With `question`, what it means of this one by the run's `judgement`.
    """
    config, answered, knows = current.config, answered_at(current, k), current.knows
    of, held = question.kind if question is not None else "", None
    if question is not None and judgement is not None and knows.opaque:
        recorded = judgement.statuses.get(question.id, "none") != "none"
        knows = replace(knows, reference=bool(question.answer.strip()), answers=recorded)
        held = judgement.rulings.get(question.id, diagnose.UNDECIDED).held
        held = True if held is None and knows.ranking and question.evidence else held
    return diagnose.about(cause, knows, k=k, depth=config.depth, answered=answered, claims=claims, of=of, held=held)


def attributed_at(current: Run, k: int) -> bool:
    """Whether the causes at `k` are those of the run's judgement: at its own k, and where answers count at every k."""
    return k == current.config.k or answered_at(current, k)


def causes_at(
    current: Run, own: Mapping[str, str], questions: Sequence[Question], results: Sequence[Retrieved], k: int
) -> Mapping[str, str]:
    """Return the cause of every question of a run when the first `k` chunks are kept; nothing is read or measured.

    Where the answers were not given from these k chunks (see `answered_at`), these are the causes up to the ranking,
    and "fine" is found at `k`. `own` are the causes of its judgement, `questions` and `results` the run's.
    """
    if attributed_at(current, k):
        return own
    return diagnose.attribute_failures(questions, results, k)


@dataclass(frozen=True, slots=True)
class AtK:
    """A run of which the first `summary.k` chunks are kept, with the causes there (see `causes_at`) by question id.

    Where these do not tell of answers (see `answered_at`), only questions with a ranking count. `kinds` are by id, too.
    """

    run: Run
    summary: Summary
    judgement: Judgement
    causes: Mapping[str, str]
    kinds: Mapping[str, str]

    @property
    def answered(self) -> bool:
        """Whether the causes tell of answers."""
        return answered_at(self.run, self.summary.k)

    @property
    def counted(self) -> dict[str, str]:
        """The causes of the questions that count, by id."""
        ranked = set(self.summary.question_ids)
        return {i: cause for i, cause in self.causes.items() if self.answered or i in ranked}

    @property
    def steps(self) -> list[diagnose.Step]:
        """The waterfall; where the causes do not tell of answers, up to the ranking."""
        k, depth, causes = self.summary.k, self.run.config.depth, [*self.counted.values()]
        steps = diagnose.waterfall(causes, self.run.knows, k=k, depth=depth, answered=self.answered)
        if self.answered:
            return [step for step in steps if step.count or step.cause != "not_judged"]
        return [s for s in steps if s.cause not in ("cut_by_budget", "not_answered", "wrong", "not_judged")]

    @property
    def losses(self) -> Losses:
        """The losses, counted as in `steps`."""
        kinds = self.kinds
        if self.run.knows.opaque:  # whether by evidence or by verdicts, the same stages are told
            kinds = {i: kind if kind == "unanswerable" else "reference" for i, kind in kinds.items()}
        return run_verdict.count(self.counted, kinds)

    @property
    def verdict(self) -> str:
        """The verdict on the run in words."""
        k, config, knows = self.summary.k, self.run.config, self.run.knows
        answers = run_verdict.answers_of(self.judgement.causes, k if self.answered else config.k)
        found = self.summary.metrics.get(label("all_groups", k))
        about = (self.losses, answers if knows.answers else None, self.judgement.claims, knows)
        return run_verdict.verdict(run_verdict.Measured(k, self.summary.ranks, found, *about), config)


def made_at(current: Run, k: int) -> str:
    """Say at which k the answers were made where `k` is another; "" where they count at `k`, and without any.

    >>> from ragviz.core.configuration import RunConfig
    >>> made_at(Run("r", "c", "r", RunConfig("i", "s", k=3, answerer="extractive"), "", {}, "done", 0, 0), 11)
    'Answers made at k = 3'
    """
    if not current.knows.answers or answered_at(current, k):
        return ""
    return f"Answers made at k = {current.config.k}"
