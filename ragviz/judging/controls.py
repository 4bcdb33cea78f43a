"""Control items: what a judge is asked beside the run's answers, with verdicts that are known before.

They are made of the run's own questions, references and evidence, in their language, and judged with the prompts of the
answers. A judge whose verdicts on them are no better than chance cannot be relied on, whatever it says of the answers.

- "same": a reference as the answer to its own question is equivalent, and its claims are held;
- "other": another question's reference is not equivalent, and does not hold them;
- "passage": a sentence of a passage follows from it, the same with its number changed (or one from elsewhere) does not;
- "unanswerable": a question with its answer and passage is answerable, one about something else is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ragviz.errors import ModelError
from ragviz.judging import checks, comparison, context, quest_prompts
from ragviz.judging.steps import STEPS
from ragviz.judging.texts import numbered as numbered_
from ragviz.judging.texts import sentences_of, spoken
from ragviz.models.requests import Completion, Request, Usage
from ragviz.records import Question, digest

SHARE = 0.05
"""Control calls ÷ calls of a run, at most; but one of each kind is asked, four in all, however small the run is."""
MOST = 5
"""Calls of each kind, at most."""
RELIABLE = 0.75
"""Share of the known verdicts that a judge must give, at least; and of each step more than half, or it is chance."""
PASSAGE = 1500
"""Characters of a passage that are shown, to the end of a sentence."""

STEP_OF = {"same": "comparison", "other": "comparison", "passage": "context", "unanswerable": "questeval"}
"""Kinds of control items, and the step that each controls."""

_ELSEWHERE = {
    "en": "What colour are the curtains in the office of the harbour master of Vladivostok?",
    "zh": "符拉迪沃斯托克港务长办公室的窗帘是什么颜色？",
}
"""Asked where no question of the run is sure to be about something else."""
_NUMBER = re.compile(r"(?<![\[A-Za-z0-9_.,:/#-])\d+(?![\]A-Za-z0-9_]|[.,:/-]\d)")


@dataclass(frozen=True, slots=True)
class ControlVerdict:
    """One known verdict: what was to be said and what the judge said, in words, of a question of the run."""

    kind: str
    question_id: str
    asked: str
    expected: str
    told: str
    right: bool


@dataclass(frozen=True, slots=True)
class Controls:
    """How a judge did on the control items of a run.

    `edition` is that of its replies, see `Request`; `usage` is what they cost when they were made. `fresh` tells that
    all of them were asked when the run was judged, and none was in the cache.
    """

    judge: str
    host: str
    prompts: Mapping[str, str]
    told: tuple[ControlVerdict, ...]
    edition: int = 0
    usage: Usage = field(default_factory=Usage)
    fresh: bool = True

    @property
    def right(self) -> int:
        """Verdicts that are as they should be."""
        return sum(each.right for each in self.told)

    @property
    def accuracy(self) -> float | None:
        """Share of the verdicts that are right, None when nothing was asked."""
        return self.right / len(self.told) if self.told else None

    @property
    def by_step(self) -> dict[str, tuple[int, int]]:
        """Right verdicts and all of them, by the step that they control."""
        steps = dict.fromkeys(STEP_OF[each.kind] for each in self.told)
        rights = {step: [each.right for each in self.told if STEP_OF[each.kind] == step] for step in steps}
        return {step: (sum(rights[step]), len(rights[step])) for step in steps}

    @property
    def reliable(self) -> bool:
        """Whether the judge can be relied on, as far as the control items tell; True when nothing was asked."""
        if self.accuracy is None:
            return True
        return self.accuracy >= RELIABLE and all(2 * right > all_ for right, all_ in self.by_step.values())

    @property
    def sentence(self) -> str:
        """The outcome, and the first wrong verdicts where the judge cannot be relied on."""
        if not self.told:
            return "There was nothing to make control items of: nothing is known of this judge."
        counts = f"{self.right} of {len(self.told)} verdicts on control items right"
        if self.reliable:
            return f"{counts}."
        steps = ", ".join(f"{step} {right} of {total}" for step, (right, total) in self.by_step.items())
        wrong = [each for each in self.told if not each.right]
        first = {each.kind: each for each in reversed(wrong)}
        why = "; ".join(f"{each.asked}: {each.told} instead of {each.expected}" for each in first.values())
        return f"This judge cannot be relied on: {counts} ({steps}). {why}."


def to_json(controls: Controls) -> dict[str, Any]:
    """All of it, with what follows from it, as it is kept and printed."""
    return asdict(controls) | {
        "right": controls.right,
        "asked": len(controls.told),
        "accuracy": controls.accuracy,
        "reliable": controls.reliable,
        "sentence": controls.sentence,
    }


def from_json(body: Mapping[str, Any]) -> Controls:
    """Read what `to_json` wrote."""
    told = tuple(ControlVerdict(**{name: each[name] for name in ControlVerdict.__slots__}) for each in body["told"])
    usage, fresh = Usage(**body["usage"]), body.get("fresh", True)
    return Controls(body["judge"], body["host"], body["prompts"], told, body["edition"], usage, fresh)


@dataclass(frozen=True, slots=True)
class Control:
    """One call of a kind: what is asked, and what reads the verdicts off the reply (None: there was none)."""

    kind: str
    question: Question
    request: Request[Any]
    read: Callable[[Any, str], list[ControlVerdict]]


def made(questions: Sequence[Question], steps: Iterable[str]) -> list[Control]:
    """The control items of a run that asks `questions` and judges by `steps`; always the same for the same run."""
    asked = frozenset(steps)
    kinds = [kind for kind, step in STEP_OF.items() if step in asked]
    calls = len(questions) * sum(STEPS[step].calls for step in asked)
    each = min(MOST, max(1, int(SHARE * calls) // len(kinds))) if kinds else 0
    usable = _mixed([question for question in questions if question.answer.strip() and question.evidence])
    found: list[Control] = []
    for kind in kinds:
        items = (MAKERS[kind](question, questions) for question in usable)
        found += _first((item for item in items if item is not None), each)
    return found


def _first(items: Iterable[Control], count: int) -> list[Control]:
    return [item for item, _ in zip(items, range(count), strict=False)]


def _mixed(questions: Sequence[Question]) -> list[Question]:
    """By chance, but the same each time, and Chinese and other questions by turns."""
    drawn = sorted(questions, key=lambda question: digest("control", question.id, question.text))
    places: dict[str, int] = {}
    turns: dict[str, tuple[int, str]] = {}
    for question in drawn:
        tongue = _tongue(question)
        places[tongue] = places.get(tongue, 0) + 1
        turns[question.id] = (places[tongue], tongue)
    return sorted(drawn, key=lambda question: turns[question.id])


def _tongue(question: Question) -> str:
    return spoken(question.answer, question.text)


def judged(control: Control, reply: Completion[Any] | ModelError) -> list[ControlVerdict]:
    """Compare a reply with what is known; a call without a usable reply has all of its verdicts wrong."""
    if isinstance(reply, ModelError):
        return control.read(None, f"no usable reply ({reply})")
    return control.read(reply.parsed, "")


# What is asked


def _same(question: Question, _: Sequence[Question]) -> Control:
    return _comparison("same", question, question.answer, same=True)


def _other(question: Question, questions: Sequence[Question]) -> Control | None:
    """The reference of the question that shares least with this one; none when all say the same."""
    mine = checks.units(question.answer)
    others = [q for q in questions if q.answer.strip() and _tongue(q) == _tongue(question) and _apart(q, question)]
    if not others:
        return None
    other = min(others, key=lambda q: (len(mine & checks.units(q.answer)), digest("control", q.id, question.id)))
    return _comparison("other", question, other.answer, same=False)


def _apart(one: Question, other: Question) -> bool:
    first, second = _bare(one.answer), _bare(other.answer)
    return first not in second and second not in first


def _bare(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _comparison(kind: str, question: Question, answer: str, *, same: bool) -> Control:
    texts = (answer, question.answer)
    claims = tuple(dict(enumerate(numbered_(text).values())) for text in texts)
    counts = (len(claims[0]), len(claims[1]))

    def read(reply: comparison.ComparisonReply | None, trouble: str) -> list[ControlVerdict]:
        what = "the reference as its own answer" if same else "another question's answer"
        wanted = ("equivalent", "its claims supported") if same else ("not equivalent", "its claims not supported")
        if reply is None:
            return [ControlVerdict(kind, question.id, what, words, trouble, right=False) for words in wanted]
        compared = comparison.read_comparison(reply, texts, counts, comparison.Compared())
        held = [claim_verdict.verdict == "supported" for claim_verdict in compared.reference.values()]
        most = 2 * sum(held) > counts[1]
        share = f"{sum(held)} of {counts[1]} supported"
        return [
            ControlVerdict(
                kind, question.id, what, wanted[0], reply.equivalence, (reply.equivalence == "equivalent") == same
            ),
            ControlVerdict(kind, question.id, what, wanted[1], share, most == same),
        ]

    return Control(kind, question, comparison.comparison_request(question.text, texts, *claims), read)


def _passage(question: Question, questions: Sequence[Question]) -> Control | None:
    """A claim that follows and one that does not; None when the passage has no sentence for it."""
    passage = _evidence(question)
    sentences = [s for s in numbered_(passage).values() if len(checks.units(s)) >= checks.FEW]
    numbered = next((s for s in sentences if _NUMBER.search(s)), None)
    claim = numbered or next(iter(sentences), None)
    if claim is None:
        return None
    changed = _with_another_number(claim, passage) if numbered else _from_elsewhere(question, passage, questions)
    if changed is None:
        return None
    what = "the same with its number changed" if numbered else "a claim from elsewhere"

    def read(reply: context.ContextReply | None, trouble: str) -> list[ControlVerdict]:
        pairs = (("a claim taken from a passage", "supported", 0), (what, "not supported", 1))
        if reply is None:
            return [
                ControlVerdict("passage", question.id, asked, wanted, trouble, right=False)
                for asked, wanted, _ in pairs
            ]
        rows = context.read_context(reply, 2, [passage], context.ContextRead()).claims
        told = []
        for asked, wanted, place in pairs:
            held = context.follows(rows[place]) if place in rows else None
            words = "no verdict" if held is None else "supported" if held else "not supported"
            told.append(ControlVerdict("passage", question.id, asked, wanted, words, words == wanted))
        return told

    request = context.context_request(question.text, question.answer, {0: claim, 1: changed}, [passage])
    return Control("passage", question, request, read)


def _evidence(question: Question) -> str:
    """The beginning of the question's evidence, whole sentences of it; its reference where that is not known."""
    span = next((span for group in question.evidence for span in group if span.text.strip()), None)
    text = span.text if span else question.answer
    ends = [end for _, end in sentences_of(text)]
    last = max([end for end in ends if end <= PASSAGE], default=ends[0] if ends else len(text))
    return text[:last].strip()


def _with_another_number(claim: str, passage: str) -> str | None:
    """`claim` with its longest number changed to one that the passage does not hold."""
    number = max(_NUMBER.finditer(claim), key=lambda found: len(found.group()))
    value, width = int(number.group()), len(number.group())
    others = (str(value + step).zfill(width) for step in range(3, 1000))
    other = next((other for other in others if other not in passage), None)
    return None if other is None else claim[: number.start()] + other + claim[number.end() :]


def _from_elsewhere(question: Question, passage: str, questions: Sequence[Question]) -> str | None:
    """The sentence of another question's evidence that shares least with the passage."""
    held = checks.units(passage)
    others = [q for q in questions if q.evidence and q.id != question.id and _tongue(q) == _tongue(question)]
    said = [s for q in others[:50] for s in numbered_(_evidence(q)).values() if len(checks.units(s)) >= checks.FEW]
    apart = [s for s in said if 3 * len(checks.units(s) & held) <= len(checks.units(s))]
    return min(apart, key=lambda s: (len(checks.units(s) & held) / len(checks.units(s)), s), default=None)


def _unanswerable(question: Question, questions: Sequence[Question]) -> Control:
    """A question that stands with its answer before the passage, and one that the text does not answer."""
    tongue = _tongue(question)
    passage = f"{question.text} {question.answer}\n{_evidence(question)}"
    asked = {0: question.text, 1: _unrelated(passage, tongue, questions)}

    def read(reply: quest_prompts.AnswersReply | None, trouble: str) -> list[ControlVerdict]:
        pairs = (("a question answered in the text", "answerable", 0), ("an unanswerable question", "unanswerable", 1))
        if reply is None:
            return [
                ControlVerdict("unanswerable", question.id, what, wanted, trouble, right=False)
                for what, wanted, _ in pairs
            ]
        answers = quest_prompts.read_answers(reply, asked)[0]
        told = []
        for what, wanted, place in pairs:
            words = "no verdict" if place not in answers else "answerable" if answers[place] else "unanswerable"
            told.append(ControlVerdict("unanswerable", question.id, what, wanted, words, words == wanted))
        return told

    return Control("unanswerable", question, quest_prompts.answers_request(passage, asked, tongue), read)


def _unrelated(passage: str, tongue: str, questions: Sequence[Question]) -> str:
    """A question of the run that shares at most a fifth of its words with the passage, else one made up."""
    held = checks.units(passage)
    candidates = [(q, checks.units(q.text)) for q in questions if spoken(q.text) == tongue]
    apart = [(len(held & units) / len(units), q.id, q.text) for q, units in candidates if len(units) >= checks.FEW]
    share, _, text = min(apart, default=(1.0, "", ""))
    return text if share <= 0.2 else _ELSEWHERE[tongue]


MAKERS: dict[str, Callable[[Question, Sequence[Question]], Control | None]] = {
    "same": _same,
    "other": _other,
    "passage": _passage,
    "unanswerable": _unanswerable,
}
"""What makes a control item of each kind from a question, given all of the run's."""
