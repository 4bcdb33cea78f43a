"""What coordination does to questions of English sentences: verbs left out, enumerations cut, appositions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ragviz.claims.candidate import Indices
from ragviz.claims.english import Asked
from ragviz.claims.english_clauses import Clause, Tree, unbroken

_UNFINISHED = ("VBG", "VBN", "JJ", "IN", "TO")
"""Tags of words that a coordination goes on from, whatever the parser made of what follows."""
_CLASSES = (("NN", "CD", "PRP", "$", "FW"), ("VB", "JJ"), ("RB",), ("IN", "TO"))
"""Beginnings of tags of words that can be coordinated with each other; participles with adjectives."""


def is_sound(tree: Tree, clause: Clause) -> bool:
    """Return whether nothing is contrasted, and no part of the clause has left out its verb."""
    words = tree.words
    if any(word.tag == "CC" and word.text.lower() == "but" for word in words):  # what is contrasted is easily taken
        return False  # for the answer: "… at the west quay, but not at the east one"
    conjuncts = [words[c].tag for c in tree.children[clause.verb] if words[c].dep == "conj"]
    if any(tag[:2] != "VB" or (tag == "VBG" and words[clause.verb].tag != "VBG") for tag in conjuncts):
        return False  # "provides sails for racing and cruising": no second verb
    objects = [c for c in tree.children[clause.verb] if words[c].dep in ("dobj", "attr")]
    return len(objects) < 2 and not any(_has_two_phrases(tree, clause, part) for part in _parts(tree, clause))


def is_subject_misread(tree: Tree, clause: Clause) -> bool:
    """Return whether the subject may be none: one comma parts it from its verb, or the verb may be a plural noun.

    "Returns one of the codes, does not execute the script", "New cipher modes as specified by the standard".
    """
    words, subject = tree.words, clause.subject
    if not subject:
        return False
    if words[subject[0]].tag == "RB":  # "Normally the script"
        return True
    if sum(words[p].text == "," for p in [*subject, *clause.between]) % 2 and not any(
        words[p].tag == "CC" for p in subject
    ):
        return True
    verb, head = words[clause.verb], words[next(p for p in subject if words[p].head not in subject)]
    is_bare = head.tag == "NN" and words[subject[0]].tag in ("JJ", "NN", "VBN") and len(subject) > 1
    return is_bare and verb.tag == "VBZ" and verb.text == f"{verb.lemma}s" and not clause.between


def is_whole(tree: Tree, asked: Asked) -> bool:
    """Return whether a question holds no part of an enumeration that goes on after what it asks for.

    "The warranty lasts 24 months for the kettle and six months for the filter" has two answers, one of them left in.
    """
    words, remaining = tree.words, set(asked.remaining)
    tail = [p for p in asked.remaining if p not in asked.clause.before]
    comma = max((p for p in tail if words[p].text == ","), default=None)
    after = [words[p].tag for p in tail if comma is not None and p > comma]
    if after and all(tag[:2] in ("NN", "DT", "JJ", "RB", "CD") for tag in after):  # "…, Tomas Reke?"
        return False
    if _is_cut(tree, asked) or any(_is_misread(tree, p) for p in asked.remaining) or _leaves_a_verb(tree, asked):
        return False
    if asked.kind == "subject":
        return True
    for part in _parts(tree, asked.clause):
        before = {tree.low(p) for p in asked.clause.rest if p < part[0] and words[p].tag in ("IN", "TO")}
        again = any(words[p].tag in ("IN", "TO") and tree.low(p) in before for p in part[1:])
        if again and asked.answer[0] < part[0] and not remaining.isdisjoint(part):
            return False
    return True


def _is_misread(tree: Tree, place: int) -> bool:
    """Return whether a word is coordinated with one of another kind, or an apposition that no comma sets off."""
    word = tree.words[place]
    if word.dep == "appos":
        first = tree.below(place)[0]
        return first == 0 or tree.words[first - 1].text not in (",", "(")
    if word.dep != "conj":
        return False
    tag = tree.words[word.head].tag
    return _class(word.tag) != _class(tag) or (word.tag in ("VBZ", "VBP") and tag in ("VB", "VBG"))


def _leaves_a_verb(tree: Tree, asked: Asked) -> bool:
    """Return whether a verb is coordinated with the one whose object is asked for, and stays in the question.

    Of "the crew wants to lease a boat and sail it to Oslo" nothing may be asked for by "what …": the gap is in one part
    of the coordination only.
    """
    words = tree.words
    if asked.kind == "subject":
        return False
    place = next((p for p in asked.answer if words[p].head not in asked.answer), asked.answer[0])
    while place not in (asked.clause.verb, words[place].head):
        place = words[place].head
        if any(
            words[c].dep == "conj" and words[c].tag[:2] == "VB" for c in tree.children[place] if c in asked.remaining
        ):
            return True
    return False


def _is_cut(tree: Tree, asked: Asked) -> bool:
    """Return whether the answer is a part of an enumeration, or has lost the end of it."""
    words = tree.words
    if any(words[p].dep in ("conj", "appos") and words[p].head in asked.answer for p in asked.remaining):
        return True
    last = asked.answer[-1]
    tags = [word.tag for word in words[last : last + 3]]
    if tags[0] in _UNFINISHED and tags[1:] == ["CC", tags[0]]:  # "sails for racing [and cruising]"
        return True
    commas = any(words[p].text == "," for p in asked.answer)
    return commas and not any(words[p].dep in ("cc", "relcl", "acl", "advcl", "amod") for p in asked.answer)


def _class(tag: str) -> int:
    return next((number for number, tags in enumerate(_CLASSES) if tag.startswith(tags)), len(_CLASSES))


def _parts(tree: Tree, clause: Clause) -> Iterator[Indices]:
    """Yield what follows a comma or "and" after the verb up to the next, where it has no verb of its own."""
    words = tree.words
    marks = [p for p in clause.rest if words[p].tag == "CC" or words[p].text == ","]
    for mark, following in pairwise([*marks, *(place + 1 for place in clause.rest[-1:])]):
        part = list(range(mark + 1, following))
        if part and not any(words[p].tag[:2] in ("VB", "MD") for p in part):
            yield part


def _has_two_phrases(tree: Tree, clause: Clause, part: Indices) -> bool:
    """Return whether a noun follows another with nothing between, as where a verb is left out: "children 10"."""
    words = tree.words
    counts = any(words[p].tag == "CD" for p in clause.rest if p < part[0])
    for left, right in pairwise(part):
        if words[left].tag[:2] == "NN" and words[right].tag in ("DT", "PRP$", "PDT"):
            return True
        if words[left].tag == "NNS" and words[right].tag == "CD" and counts:
            return True
    return False


def without_asides(tree: Tree) -> str:
    """Return the sentence without what commas set off to name or describe the noun before: ", Tomas Reke,".

    Where anything is coordinated with an apposition or its noun, it may be an enumeration, and stays.
    """
    words, kept = tree.words, tree.sentence
    cuts = []
    for place, word in enumerate(words):
        if word.dep not in ("appos", "acl", "relcl") or word.head > place:
            continue
        places = tree.below(place)
        first, after = places[0], places[-1] + 1
        closed = first > 0 and after < len(words) and words[after].text in (",", ".") and words[first - 1].text == ","
        if closed and unbroken(places) and (word.dep != "appos" or _is_single(tree, place)):
            end = words[after].end if words[after].text == "," else words[after].start
            cuts.append((words[first - 1].start, end))
    for start, end in _outermost(cuts):
        kept = kept[:start] + kept[end:]
    return kept


def _outermost(cuts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges that no other holds or touches, the last first."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(cuts):
        if not found or start >= found[-1][1]:
            found.append((start, end))
    return found[::-1]


def _is_single(tree: Tree, place: int) -> bool:
    """Return whether an apposition is the only one of its noun, and neither is coordinated with anything."""
    words, noun = tree.words, tree.words[place].head
    siblings = [*tree.children[noun], *tree.children[place]]
    is_listed = words[noun].dep == "conj" or any(words[c].dep in ("cc", "conj") for c in siblings)
    return not is_listed and sum(words[c].dep == "appos" for c in tree.children[noun]) == 1
