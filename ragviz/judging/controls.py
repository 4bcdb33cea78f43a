"""Control items: judged beside the run's answers, with verdicts that are known in advance.

They are made of the run's own questions, references and evidence, in their language, and judged with the prompts of the
answers. A judge whose verdicts on them are no better than chance cannot be relied on, whatever it says of the answers.

- "same": a reference as the answer to its own question is equivalent, and holds its claims;
- "other": another question's reference is not equivalent, and does not hold them;
- "passage": a sentence of a passage follows from it, the same with a changed number (or one from elsewhere) does not;
- "unanswerable": a question with its answer and passage is answerable, one about something else is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from ragviz.core.digests import digest
from ragviz.core.errors import ModelError
from ragviz.core.question import Question
from ragviz.judging import banks, checks, comparison, context
from ragviz.judging.steps import STEPS
from ragviz.judging.texts import numbered, prompt_language, sentences_of
from ragviz.models.requests import Completion, Request, Usage

SHARE = 0.05
"""Control calls ÷ calls of a run, at most; but one of each kind, four in all, however small the run is."""
MOST = 5
"""Calls of each kind, at most."""
RELIABLE = 0.75
"""Share of the known verdicts that a judge must get right, at least; and of each step more than half (chance)."""
PASSAGE = 1500
"""Characters of a passage that the judge gets, to the end of a sentence."""

STEP_OF = {"same": "comparison", "other": "comparison", "passage": "context", "unanswerable": "questeval"}
"""Kind of control item → the step that it controls."""

_ELSEWHERE = {
    "en": "What colour are the curtains in the office of the harbour master of Vladivostok?",
    "zh": "符拉迪沃斯托克港务长办公室的窗帘是什么颜色？",
}
"""Asked of a passage, which does not answer it."""
_NUMBER = re.compile(r"(?<![\[A-Za-z0-9_.,:/#-])\d+(?![\]A-Za-z0-9_]|[.,:/-]\d)")


@dataclass(frozen=True, slots=True)
class ControlVerdict:
    """One known verdict on a question of the run: what was `asked`, what was `expected`, what the judge `told`."""

    kind: str
    question_id: str
    asked: str
    expected: str
    told: str
    right: bool


@dataclass(frozen=True, slots=True)
class Controls:
    """How a judge did on the control items of a run.

    `told` are its verdicts. `edition` is that of its replies, see `Request`; `usage` is what they cost when they were
    made.
    """

    judge: str
    host: str
    prompts: Mapping[str, str]
    told: tuple[ControlVerdict, ...]
    edition: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def right(self) -> int:
        """Number of right verdicts."""
        return sum(each.right for each in self.told)

    @property
    def accuracy(self) -> float | None:
        """Share of right verdicts, None when nothing was asked."""
        return self.right / len(self.told) if self.told else None

    @property
    def by_step(self) -> dict[str, tuple[int, int]]:
        """Number of right verdicts and of all, by the step that they control."""
        steps = dict.fromkeys(STEP_OF[each.kind] for each in self.told)
        rights = {step: [each.right for each in self.told if STEP_OF[each.kind] == step] for step in steps}
        return {step: (sum(rights[step]), len(rights[step])) for step in steps}

    @property
    def reliable(self) -> bool:
        """Whether the judge can be relied on according to the control items; True when nothing was asked."""
        if self.accuracy is None:
            return True
        return self.accuracy >= RELIABLE and all(2 * right > all_ for right, all_ in self.by_step.values())

    @property
    def sentence(self) -> str:
        """The outcome, and the first wrong verdicts where the judge cannot be relied on."""
        if not self.told:
            return "No control item could be made of the questions: nothing is known of this judge."
        counts = f"{self.right} of {len(self.told)} verdicts on control items right"
        if self.reliable:
            return f"{counts}."
        steps = ", ".join(f"{step} {right} of {total}" for step, (right, total) in self.by_step.items())
        wrong = [each for each in self.told if not each.right]
        first = {each.kind: each for each in reversed(wrong)}
        why = "; ".join(f"{each.asked}: {each.told} instead of {each.expected}" for each in first.values())
        return f"This judge cannot be relied on: {counts} ({steps}). {why}."


def to_json(controls: Controls) -> dict[str, Any]:
    """Return all fields and the properties computed from them, as they are stored and printed."""
    return asdict(controls) | {
        "right": controls.right,
        "asked": len(controls.told),
        "accuracy": controls.accuracy,
        "reliable": controls.reliable,
        "sentence": controls.sentence,
    }


def from_json(body: Mapping[str, Any]) -> Controls:
    """Read what `to_json` wrote."""
    fields = ControlVerdict.__slots__
    verdicts = tuple(ControlVerdict(**{name: each[name] for name in fields}) for each in body["told"])
    return Controls(body["judge"], body["host"], body["prompts"], verdicts, body["edition"], Usage(**body["usage"]))


@dataclass(frozen=True, slots=True)
class Control:
    """One control call: its request, and the function that reads the verdicts off the reply (None: there was none)."""

    kind: str
    question: Question
    request: Request[Any]
    read: Callable[[Any, str], list[ControlVerdict]]


def make(questions: Sequence[Question], steps: Iterable[str]) -> list[Control]:
    """Return the control items of a run that asks `questions` and judges by `steps`: always the same for one run."""
    steps = frozenset(steps)
    kinds = [kind for kind, step in STEP_OF.items() if step in steps]
    calls = len(questions) * sum(STEPS[step].calls for step in steps)
    each = min(MOST, max(1, int(SHARE * calls) // len(kinds))) if kinds else 0
    usable = _mixed([question for question in questions if question.answer.strip() and question.evidence])
    controls: list[Control] = []
    for kind in kinds:
        made = (MAKERS[kind](question, questions) for question in usable)
        controls += islice((control for control in made if control is not None), each)
    return controls


def _mixed(questions: Sequence[Question]) -> list[Question]:
    """Return questions in a random order that is always the same, Chinese and other ones in turn."""
    shuffled = sorted(questions, key=lambda question: digest("control", question.id, question.text))
    places: dict[str, int] = {}
    turns: dict[str, tuple[int, str]] = {}
    for question in shuffled:
        lang = _language(question)
        places[lang] = places.get(lang, 0) + 1
        turns[question.id] = (places[lang], lang)
    return sorted(shuffled, key=lambda question: turns[question.id])


def _language(question: Question) -> str:
    return prompt_language(question.answer, question.text)


def verdicts_of(control: Control, reply: Completion[Any] | ModelError) -> list[ControlVerdict]:
    """Compare a reply with the known verdicts; without a usable reply all of them are wrong."""
    if isinstance(reply, ModelError):
        return control.read(None, f"no usable reply ({reply})")
    return control.read(reply.parsed, "")


def _other(question: Question, questions: Sequence[Question]) -> Control | None:
    units = checks.units(question.answer)
    own, lang = _bare(question.answer), _language(question)
    others = [q for q in questions if q.answer.strip() and _language(q) == lang]
    others = [q for q in others if (bare := _bare(q.answer)) not in own and own not in bare]
    if not others:
        return None
    other = min(others, key=lambda q: (len(units & checks.units(q.answer)), digest("control", q.id, question.id)))
    return _comparison("other", question, other.answer, same=False)


def _bare(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _told(
    kind: str, question: Question, asked: Sequence[tuple[str, str]], said: Mapping[int, str], trouble: str
) -> list[ControlVerdict]:
    """Return the verdicts on what was asked, with what is expected: as `said` of its place, or all as `trouble`."""
    told = [(*each, trouble or said.get(place, "no verdict")) for place, each in enumerate(asked)]
    return [ControlVerdict(kind, question.id, *each, right=each[1] == each[2]) for each in told]


def _comparison(kind: str, question: Question, answer: str, *, same: bool) -> Control:
    texts = (answer, question.answer)
    claims = tuple(dict(enumerate(numbered(text).values())) for text in texts)
    counts = (len(claims[0]), len(claims[1]))

    def read(reply: comparison.ComparisonReply | None, trouble: str) -> list[ControlVerdict]:
        what = "the reference as its own answer" if same else "another question's answer"
        expected = ("equivalent", "its claims supported") if same else ("not equivalent", "its claims not supported")
        if reply is None:
            return [ControlVerdict(kind, question.id, what, words, trouble, right=False) for words in expected]
        verdicts = comparison.read_comparison(reply, texts, counts, comparison.ComparisonVerdicts())
        supported = sum(each.verdict == "supported" for each in verdicts.reference.values())
        most = 2 * supported > counts[1]
        share = f"{supported} of {counts[1]} supported"
        return [
            ControlVerdict(
                kind, question.id, what, expected[0], reply.equivalence, (reply.equivalence == "equivalent") == same
            ),
            ControlVerdict(kind, question.id, what, expected[1], share, most == same),
        ]

    return Control(kind, question, comparison.comparison_request(question.query, texts, *claims), read)


def _passage(question: Question, questions: Sequence[Question]) -> Control | None:
    """Ask of a claim that follows from a passage and one that does not; None when no sentence is suitable."""
    passage = _evidence(question)
    sentences = [s for s in numbered(passage).values() if len(checks.units(s)) >= checks.FEW]
    with_number = next((s for s in sentences if _NUMBER.search(s)), None)
    claim = with_number or next(iter(sentences), None)
    if claim is None:
        return None
    changed = _with_another_number(claim, passage) if with_number else _from_elsewhere(question, passage, questions)
    if changed is None:
        return None
    what = "the same with its number changed" if with_number else "a claim from elsewhere"

    def read(reply: context.ContextReply | None, trouble: str) -> list[ControlVerdict]:
        asked = (("a claim taken from a passage", "supported"), (what, "not supported"))
        rows = context.read_context(reply, 2, [passage], context.ContextVerdicts()).claims if reply else {}
        said = {place: "supported" if context.follows(row) else "not supported" for place, row in rows.items()}
        return _told("passage", question, asked, said, trouble)

    request = context.context_request(question.query, question.answer, {0: claim, 1: changed}, [passage])
    return Control("passage", question, request, read)


def _evidence(question: Question) -> str:
    """Return the beginning of the question's evidence, in whole sentences; its reference where it has none."""
    span = next((span for span in question.spans if span.text.strip()), None)
    text = span.text if span else question.answer
    ends = [end for _, end in sentences_of(text)]
    last = max([end for end in ends if end <= PASSAGE], default=ends[0] if ends else len(text))
    return text[:last].strip()


def _with_another_number(claim: str, passage: str) -> str | None:
    """Return `claim` with its longest number changed to one that is not in the passage; None when all are."""
    number = max(_NUMBER.finditer(claim), key=lambda match: len(match.group()))
    value, width = int(number.group()), len(number.group())
    others = (str(value + step).zfill(width) for step in range(3, 1000))
    other = next((other for other in others if other not in passage), None)
    return None if other is None else claim[: number.start()] + other + claim[number.end() :]


def _from_elsewhere(question: Question, passage: str, questions: Sequence[Question]) -> str | None:
    passage_units = checks.units(passage)
    others = [q for q in questions if q.evidence and q.id != question.id and _language(q) == _language(question)]
    sentences = [s for q in others[:50] for s in numbered(_evidence(q)).values() if len(checks.units(s)) >= checks.FEW]
    unrelated = [s for s in sentences if 3 * len(checks.units(s) & passage_units) <= len(checks.units(s))]
    return min(unrelated, key=lambda s: (len(checks.units(s) & passage_units) / len(checks.units(s)), s), default=None)


def _unanswerable(question: Question, _: Sequence[Question]) -> Control:
    """Ask a question that precedes the passage with its answer, and one that the text does not answer."""
    lang = _language(question)
    passage = f"{question.text} {question.answer}\n{_evidence(question)}"
    texts = {0: question.text, 1: _ELSEWHERE[lang]}

    def read(reply: banks.AnswersReply | None, trouble: str) -> list[ControlVerdict]:
        asked = (("a question answered in the text", "answerable"), ("an unanswerable question", "unanswerable"))
        answers = banks.read_answers(reply, texts)[0] if reply else {}
        said = {place: "answerable" if answer else "unanswerable" for place, answer in answers.items()}
        return _told("unanswerable", question, asked, said, trouble)

    return Control("unanswerable", question, banks.answers_request(passage, texts, lang), read)


MAKERS: dict[str, Callable[[Question, Sequence[Question]], Control | None]] = {
    "same": lambda question, _: _comparison("same", question, question.answer, same=True),
    "other": _other,
    "passage": _passage,
    "unanswerable": _unanswerable,
}
"""Function by kind that makes a control item of a question, given all questions of the run."""
