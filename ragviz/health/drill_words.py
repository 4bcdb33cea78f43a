"""What a drill found, in sentences: what a question set notices, and what it cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ragviz.health.faults import FAULTS, POINTS
from ragviz.questions.question_types import TYPES

Fact = Mapping[str, Any]

HEADLINE = 0.05
"""The size of the regression, in points of recall, of which the first sentence speaks."""
PLANTED = "removed"
"""The fault of which the first sentences speak: it is planted until recall has lost that much."""
MOSTLY = 0.8
"""The share of plantings from which on a fault counts as noticed."""
LISTED = 5
"""Names of documents that are listed, at most."""


def drill_words(fact: Fact) -> list[str]:
    """Return what a drill found: first what is noticed at which rate of false alarms, then what cannot be noticed."""
    return [*noticed_words(fact), *cannot_words(fact)]


def noticed_words(fact: Fact) -> list[str]:
    """Return what the set and the gate notice of planted faults of one size, each rate beside its false alarms.

    Without noise nothing but the fault differs: an index that was not altered ranks the same, and there is none.
    """
    found = cell(fact, PLANTED, HEADLINE)
    if found["reason"]:
        return [f"No regression of {points(HEADLINE)} can be planted: {found['reason']}."]
    noisy, alarms, of = found["noisy"], fact["false_alarms"], found["repetitions"]
    rates = {name: percent(alarms[name], alarms["repetitions"]) for name in ("worse", "stopped")}
    return [
        f"This set notices {percent(noisy['worse'], of)} of planted regressions of {points(HEADLINE)} of "
        f"{fact['metric']} ({FAULTS[PLANTED].title}) at a false-alarm rate of {rates['worse']}, both with as much "
        f"noise as other wordings of the questions make; without noise {percent(found['worse'], of)}, where there "
        "can be no false alarm.",
        f"“ragviz check --baseline”, which allows a loss of {fact['no_worse_than']:g}, stops "
        f"{percent(noisy['stopped'], of)} of them at a false-alarm rate of {rates['stopped']} with that noise; without "
        f"noise {percent(found['stopped'], of)}.",
        *_other_words(fact),
        _least_words(fact),
    ]


def _other_words(fact: Fact) -> Iterator[str]:
    """Say what is noticed of the other faults that rankings can show, planted where as much evidence stands."""
    told = []
    for name, fault in FAULTS.items():
        if fault.seen_by != "ranking" or name == PLANTED:
            continue
        found = cell(fact, name, HEADLINE)
        of = found["repetitions"]
        told.append(
            f"{fault.title}, {percent(found['noisy']['worse'], of)}, without noise {percent(found['worse'], of)} "
            f"({fact['metric']} changes by {found['change']:+.3f})"
            if of
            else f"{fault.title}, not planted ({found['reason']})"
        )
    if told:
        yield f"Of other faults, planted where the evidence of {points(HEADLINE)} stands: {'; '.join(told)}."


def _noisy(found: Mapping[str, Any]) -> int:
    """Return in how many plantings of a cell a loss was noticed, with noise."""
    return int(found["noisy"]["worse"])


def _least_words(fact: Fact) -> str:
    """Say from which size on evidence that is removed is mostly noticed; without noise it is where it is with noise."""
    noisy, own = _least(fact, _noisy), _least(fact, lambda found: found["worse"])
    title = FAULTS[PLANTED].title
    least, greatest = f"{title.capitalize()} is noticed in at least 4 of 5 plantings", points(POINTS[-1])
    if noisy and own:
        return f"{least} from {points(noisy)} on with noise, from {points(own)} on without."
    if own and any(_is_mostly(cell(fact, PLANTED, strength), _noisy) for strength in POINTS):
        return (
            f"{least} from {points(own)} on without noise; with noise a loss is, and a greater one is not: so few "
            "plantings do not tell from which size on."
        )
    if own:
        return (
            f"{least} from {points(own)} on without noise; with noise not even a loss of {greatest}, the greatest "
            "planted, is: more questions are needed, about more documents."
        )
    return (
        f"Not even a loss of {greatest}, the greatest planted, is noticed in 4 of 5 plantings ({title}), with noise or "
        "without: more questions are needed, about more documents."
    )


def _least(fact: Fact, noticed: Callable[[Mapping[str, Any]], int]) -> float | None:
    """Return the smallest size from which on every size is mostly noticed; None where the largest is not."""
    least = None
    for strength in reversed(POINTS):
        if not _is_mostly(cell(fact, PLANTED, strength), noticed):
            break
        least = strength
    return least


def _is_mostly(found: Mapping[str, Any], noticed: Callable[[Mapping[str, Any]], int]) -> bool:
    """Return whether a loss was noticed in most plantings of a cell, and planted at all."""
    return bool(found["repetitions"]) and noticed(found) >= MOSTLY * found["repetitions"]


def cannot_words(fact: Fact) -> list[str]:
    """Return what the set cannot notice: what it asks nothing about, and what only answers can tell."""
    return [*_places(fact), *_documents(fact), *_sections(fact), *_types(fact), *_answers(fact)]


def _places(fact: Fact) -> Iterator[str]:
    rows = [row for row in fact["where"] if row["by"] == "place"]
    if silent := [row["name"] for row in rows if not row["questions"]]:
        them = "them" if len(silent) == 1 else "any of them"
        yield f"It cannot notice anything in {_joined(silent, 'or')}: it asks nothing about {them}."
        shares = [f"{row['name']} {100 * row['share']:.1f} %" for row in rows if not row["questions"]]
        yield f"Of the documents' text that is: {', '.join(shares)}."
    for row in rows:
        if row["questions"] and not row["worse"]:
            yield (
                f"It does not notice that all evidence in {row['name']} is lost: only "
                f"{_counted(row['questions'], 'question')} {_has(row['questions'])} evidence there."
            )


def _documents(fact: Fact) -> Iterator[str]:
    rows = [row for row in fact["where"] if row["by"] == "document"]
    silent = [row["name"] for row in rows if not row["questions"]]
    missed = [row["name"] for row in rows if row["questions"] and not row["worse"]]
    if silent:
        yield (
            f"It cannot notice anything in {len(silent):,} of {_counted(len(rows), 'document')}, about which it asks "
            f"nothing: {_listed(silent)}."
        )
    if missed:
        asked = len(rows) - len(silent)
        where = f"{len(missed):,} of the" if len(missed) < asked else "any of the"
        yield (
            f"It does not notice that all evidence in one document is lost, in {where} "
            f"{_counted(asked, 'document')} that it asks about{_unless_all(missed, asked)}: documents are the unit of "
            "doubt, and a loss in one of them may be chance. Results by document show it."
        )


def _unless_all(missed: Sequence[str], asked: int) -> str:
    return f" ({_listed(missed)})" if len(missed) < asked else ""


def _sections(fact: Fact) -> Iterator[str]:
    total, asked = fact["sections"]["total"], fact["sections"]["asked"]
    if asked < total:
        yield f"It asks nothing about {total - asked:,} of {_counted(total, 'section')}."


def _types(fact: Fact) -> Iterator[str]:
    counts = fact["types"]
    if set(counts) <= {""}:
        yield "Its questions do not say of which type they are: what it asks no question of cannot be told."
        return
    missing = [spec.title for name, spec in TYPES.items() if name != "unanswerable" and not counts.get(name)]
    if missing:
        yield f"It has no questions of these types: {', '.join(missing)}. What fails only for them is not noticed."
    if not fact["unanswerable"]:
        yield "It asks nothing that the documents do not answer: it cannot notice answers that are made up."


def _answers(fact: Fact) -> Iterator[str]:
    """Say what rankings alone cannot tell, and how much of it the answers do."""
    blind = [name for name, fault in FAULTS.items() if fault.seen_by == "answers"]
    titles = _joined([FAULTS[name].title for name in blind], "or")
    yield (
        f"{fact['metric']} cannot notice {titles}: a chunk counts as found whatever it says, and whether or not the "
        "answer is given from it. Only answers can."
    )
    if fact["answerer"] == "none":
        yield "This drill asked for no answers."
        return
    told = [_answered(fact, name) for name in blind]
    yield (
        f"Of {fact['answerer']} answers, a comparison calls token F1 worse, and “ragviz check --baseline” with a "
        f"loss of {fact['no_worse_than']:g} allowed stops: {'; '.join(filter(None, told))}."
    )
    if fact["answerer"] == "extractive":
        yield "Extractive answers follow no instruction: whether a model does, a drill with a model's answers tells."


def _answered(fact: Fact, name: str) -> str:
    """Say of how many plantings of a fault, in its greatest strength, the answers are worse, and stop at the gate."""
    strength = FAULTS[name].strengths[-1]
    found = cell(fact, name, strength)
    if found["reason"] or not found["answers"]:
        return f"{FAULTS[name].title}, not planted ({found['reason'] or 'no reference answers'})"
    where = f"to {100 * strength:.0f} %" if FAULTS[name].cuts else f"for {points(strength)}"
    answers = found["answers"]
    of = f"{found['repetitions']:,}"
    return f"{FAULTS[name].title} {where}, worse {answers['worse']:,} of {of}, stopped {answers['stopped']:,} of {of}"


def cell(fact: Fact, fault: str, strength: float) -> Mapping[str, Any]:
    """Return what a drill found of a fault in one strength."""
    found: Mapping[str, Any] = next(
        each for each in fact["faults"] if (each["fault"], each["strength"]) == (fault, strength)
    )
    return found


def points(share: float) -> str:
    """Write a share of recall in points.

    >>> points(0.05), points(0.01)
    ('5 points', '1 point')
    """
    return _counted(round(100 * share), "point")


def percent(count: int, of: int) -> str:
    """Write a share in percent, below 10 with a decimal where it has one.

    >>> percent(18, 20), percent(3, 400), percent(0, 400), percent(0, 0)
    ('90 %', '0.8 %', '0 %', 'none')
    """
    if not of:
        return "none"
    share = 100 * count / of
    return f"{share:.1f} %" if 0 < share < 10 and round(share, 1) != round(share) else f"{share:.0f} %"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _has(count: int) -> str:
    return "has" if count == 1 else "have"


def _listed(names: Sequence[str]) -> str:
    """List names for the end of a sentence or a bracket, those past the first few counted."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _joined(names: Sequence[str], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
