"""Attributes that an English sentence measures: "the pressure of the pump is 9 bar", "a pump has a length of 9 m"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragviz.claims.candidate import Indices, word_set
from ragviz.claims.english_clauses import Clause, Tree, unbroken

LONGEST = 8
"""Words of the thing that is measured, and of its attribute, at most."""

_AMOUNT = re.compile(
    r"(?:(?:at least|at most|up to|about|approximately|exactly|only) )?[$€£¥]? ?\d[\d.,]*(?: ?[%°µ²³/\w]+){0,2}"
    r"(?: (?:per|an?|each) \w+)?"
)
_FURTHER = frozenset({"IN", "RB", "JJR", "RBR", "WDT", "TO"})
_BOUNDS = word_set("at about up to per approximately exactly only")
_EACH = word_set("each every all any some many most no several")
_UNSAID = word_set("number amount total sum count list set range series kind type sort part half share majority pair")
"""Nouns before "of" that count or divide what follows: they are no attribute of it."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measured attribute: the places of the thing, of its attribute without an article, and of the amount."""

    thing: Indices
    attribute: Indices
    joint: str
    amount: Indices


def quantity_of(tree: Tree, clause: Clause) -> Quantity | None:
    """Return what a clause measures, if that is all it says; None where it measures nothing, or under a condition."""
    words, verb = tree.words, clause.verb
    if clause.before or clause.between or words[verb].tag not in ("VBZ", "VBP") or not clause.subject:
        return None
    found = (
        _is(tree, clause) if words[verb].lemma == "be" else _has(tree, clause) if words[verb].lemma == "have" else None
    )
    if found is None or max(len(found.thing), len(found.attribute)) > LONGEST:
        return None
    head = found.attribute[-1]
    is_one = words[head].tag == "NN" and words[head].lemma.lower() not in _UNSAID
    is_one = is_one and not any(words[p].tag in _FURTHER and tree.low(p) not in _BOUNDS for p in found.amount)
    is_one = is_one and words[found.thing[0]].tag != "PRP$" and tree.low(found.thing[0]) not in _EACH
    ends = all(word.tag == "." for word in words[found.amount[-1] + 1 :])
    return found if is_one and ends and _AMOUNT.fullmatch(tree.text(found.amount)) else None


def _is(tree: Tree, clause: Clause) -> Quantity | None:
    """Read "the ATTRIBUTE of the THING is AMOUNT"."""
    head = next((p for p in clause.subject if tree.words[p].head == clause.verb), None)
    joint = next((c for c in tree.children[head] if tree.low(c) in ("of", "for")), None) if head is not None else None
    if head is None or joint is None or tree.low(clause.subject[0]) != "the" or not clause.rest:
        return None
    thing = [p for p in tree.below(joint) if p != joint]
    attribute = [p for p in clause.subject if clause.subject[0] < p <= head]
    is_all = [*clause.subject[:1], *attribute, joint, *thing] == list(clause.subject)
    return Quantity(thing, attribute, tree.low(joint), clause.rest) if thing and attribute and is_all else None


def _has(tree: Tree, clause: Clause) -> Quantity | None:
    """Read "the THING has a ATTRIBUTE of AMOUNT"."""
    head = tree.child(clause.verb, "dobj")
    joint = tree.child(head, "prep") if head is not None else None
    if head is None or joint is None or tree.low(joint) != "of" or tree.child(head, "conj", "cc") is not None:
        return None
    phrase = [p for p in clause.rest if p < joint]
    amount = [p for p in clause.rest if p > joint]
    if not amount or not unbroken(clause.rest) or tree.low(phrase[0]) not in ("a", "an") or len(phrase) < 2:
        return None
    return Quantity(clause.subject, phrase[1:], "of", amount)
