"""The judgement of a run's answers: scores, causes and costs, summed up and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ragviz.analysis import diagnose, doubts, evaluate
from ragviz.answers import wording
from ragviz.answers.abstention import Abstention, abstention
from ragviz.judging import controls
from ragviz.metrics import answers as answer_metrics
from ragviz.models.requests import Usage
from ragviz.models.spending import dollars
from ragviz.records import Answer, Call, EvaluatedAnswer, Question, Run, Score
from ragviz.runs import control_items, measurements
from ragviz.workspace import Workspace


def coverage_words(judgement: Judgement, total: int) -> str:
    """Say how many of `total` questions have a score, by the judged metrics (else by all), and which have fewest."""
    summaries = {
        n: s for n, s in judgement.metrics.items() if answer_metrics.ANSWER_METRICS[n].judged
    } or judgement.metrics
    if not summaries:
        return ""
    counts = {name: scored.statuses.get("ok", 0) for name, scored in summaries.items()}
    low, high = min(counts.values()), max(counts.values())
    if low == high:
        return f"{low:,} of {total:,} scored by every measure"
    fewest = [answer_metrics.ANSWER_METRICS[name].title for name, count in counts.items() if count == low]
    more = f" and {len(fewest) - 2} more" if len(fewest) > 2 else ""
    return f"{low:,} to {high:,} of {total:,} scored, fewest by {', '.join(fewest[:2])}{more}"


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether the numbers of a run are reliable, and a sentence on each problem."""

    run: str
    problems: tuple[str, ...]
    controls: controls.Controls | None

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
    if failed := sum(store.judged_ids(current.id).values()):
        problems.append(f"A step failed for {failed} of {len(store.run_questions(current.id))} questions.")
    if controlled is not None and not controlled.reliable:
        problems.append(controlled.sentence)
    return Checked(current.name, tuple(problems), controlled)


def judge_to_json(current: Run) -> dict[str, Any]:
    """Return who answered and who judged a run, the versions of the prompts and the verdicts on control items."""
    config, controlled = current.config, control_items.controls_of(current)
    judges: dict[str, Any] = {"model": config.judge, "host": controlled.host if controlled else None}
    judges["prompts"] = dict(controlled.prompts) if controlled else None
    answers = {"answerer": config.answerer, "model": config.model, "version": wording.VERSIONS.get(config.answerer)}
    return {
        "answerer": answers if config.answerer != "none" else None,
        "judge": judges | {"controls": controls.to_json(controlled) if controlled else None} if config.judge else None,
    }


def judge_words(current: Run) -> str:
    """Say who answered and who judged, and by which prompts; "" without a judge."""
    config, controlled = current.config, control_items.controls_of(current)
    if not config.judge:
        return ""
    by = f"judged by {config.judge}" + (f" at {controlled.host}" if controlled else "")
    prompts = ", ".join(f"{step} {version}" for step, version in controlled.prompts.items()) if controlled else ""
    answerer = config.model or config.answerer
    answered = f"answered by {answerer} · " if config.answerer != "none" else ""
    return f"{answered}{by}{f' · prompts: {prompts}' if prompts else ''}"


def calls_of(evaluated: EvaluatedAnswer) -> list[Call]:
    """Return every model call behind an evaluated answer: those of a bank made before, of the answer, of the judge."""
    own = [call for call in (evaluated.answer.call, *evaluated.calls) if call is not None]
    replies = {(call.step, call.raw) for call in own}
    of_bank = evaluated.bank.calls if evaluated.bank is not None else ()
    return [*(call for call in of_bank if (call.step, call.raw) not in replies), *own]


def _calls_behind(evaluated_answers: Iterable[EvaluatedAnswer]) -> list[Call]:
    """Return the calls behind all of these answers; those of a bank that several share are counted once."""
    calls: list[Call] = []
    banks: set[tuple[str, str]] = set()
    for evaluated in evaluated_answers:
        bank = (evaluated.bank.maker, evaluated.question.answer) if evaluated.bank is not None else ("", "")
        bank_is_new = bank not in banks
        banks.add(bank)
        calls += [call for call in calls_of(evaluated) if bank_is_new or call.step != "bank"]
    return calls


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of a run's answers: everything by question id, in the order of the questions.

    `scores` are by metric first. `causes` says of every question where it was lost (a key of `diagnose.CAUSES`),
    `rulings` whether its answer is right. `usage` is what all model calls behind it cost when they were made, by any
    run; `paid` are the calls and dollars that this run paid. `controls` is how the judge did on the control items, None
    when it was asked none.
    """

    evaluated: Mapping[str, EvaluatedAnswer]
    scores: Mapping[str, Mapping[str, Score]]
    metrics: Mapping[str, evaluate.Scored]
    rulings: Mapping[str, diagnose.Ruling]
    causes: Mapping[str, str]
    abstention: Abstention
    usage: Usage
    paid: tuple[int, float]
    controls: controls.Controls | None = None

    @property
    def doubts(self) -> list[doubts.Doubt]:
        """Questions to look at first: their scores contradict the words of their answers."""
        return doubts.doubts(self.evaluated.values(), self.scores)

    @property
    def failed(self) -> list[str]:
        """Questions of which a step failed: `rejudge` judges them again."""
        return [question_id for question_id, evaluated in self.evaluated.items() if evaluated.failures]


def cost_words(judgement: Judgement) -> str:
    """Say what the model calls behind a run cost when they were made, and what the run itself paid."""
    usage, (calls, paid) = judgement.usage, judgement.paid
    if not usage.calls and not calls:
        return "No model was asked: nothing was paid."
    behind = _calls_behind(judgement.evaluated.values())
    tokens = f"{usage.prompt_tokens:,} input + {usage.completion_tokens:,} output tokens"
    priced = [call.cost for call in behind if call.cost is not None]
    unpriced = f" ({len(behind) - len(priced):,} calls without a price)" if len(priced) < len(behind) else ""
    cost = f"{dollars(usage.cost)}{unpriced} when they were made" if priced else "no price was known"
    own = f"this run paid {dollars(paid)}, for {calls:,} calls" if priced or paid else f"this run paid {calls:,} calls"
    own += ", embeddings and those that failed included"
    if not usage.calls:
        return f"No model calls behind it; {own}"
    return f"{usage.calls:,} model calls behind it · {tokens} · {cost}; {own}"


def judgement_of(workspace: Workspace, current: Run, k: int | None = None) -> Judgement:
    """Sum up the answers of a run; a run without answers has only causes, up to the ranking at `k`.

    Answers were given from the run's own k chunks: where there are answers, `k` is ignored.
    """
    store, config = workspace.store, current.config
    k = k if k and config.answerer == "none" else config.k
    questions, results = store.run_questions(current.id), measurements.results_of(workspace, current)
    evaluated = store.evaluated_answers(current.id, keys=workspace.settings.keys)
    scores = answer_metrics.renamed(store.scores(current.id))
    answers = {i: j.answer for i, j in evaluated.items() if config.answerer != "none"}
    rulings = {q.id: _ruling(q, answers[q.id], scores) for q in questions if q.id in answers}
    if config.answerer != "none":  # the rest of an interrupted run is not known
        results = [result for result in results if result.question_id in answers]
    causes = diagnose.attribute_failures(questions, results, k, answers, rulings, kind=config.context)
    usage = Usage.of(_calls_behind(evaluated.values()))
    controlled = control_items.controls_of(current)
    return Judgement(
        evaluated,
        scores,
        evaluate.summarise_scores(scores, seed=config.seed),
        rulings,
        causes,
        abstention(questions, answers.values()),
        usage + controlled.usage if controlled else usage,
        store.paid(current.id),
        controlled,
    )


def _ruling(question: Question, answer: Answer, scores: Mapping[str, Mapping[str, Score]]) -> diagnose.Ruling:
    own_scores = [by_question[question.id] for by_question in scores.values() if question.id in by_question]
    values = {score.metric: score.value for score in own_scores if score.value is not None}
    return diagnose.is_right(question, answer, values, [s.metric for s in own_scores if s.status == "judge_error"])
