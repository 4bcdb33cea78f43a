"""The main clause of an English sentence, found in its parse tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragviz.claims import candidate
from ragviz.claims.candidate import Indices
from ragviz.core.document import Word

_POINTING = candidate.word_set(
    "it its they them their he she him her his this these those here there ones same former latter above below"
    " following i me my"
)

_OPENERS = candidate.word_set(
    "however also additionally therefore finally then so first second third next lastly further furthermore moreover"
    " instead otherwise thus hence similarly generally lately please note and but or yet , :"
)

_LINKING = candidate.word_set(
    "then also therefore however thus instead otherwise meanwhile furthermore moreover later still"
)

_POINTERS = candidate.word_set("see visit refer check note remember follow read learn view look")

DO = {"VBZ": "does", "VBP": "do", "VBD": "did"}
LONG = {"ca": "can", "wo": "will", "sha": "shall", "'re": "are", "'ve": "have", "'ll": "will", "n't": "not"}
LONG |= {"'m": "am", "'d": "would"}


class Tree:
    """A parsed sentence as a tree of its words."""

    def __init__(self, sentence: str, words: Sequence[Word]) -> None:
        self.sentence, self.words = sentence, words
        self.children: list[Indices] = [[] for _ in words]
        for place, word in enumerate(words):
            if word.head != place:
                self.children[word.head].append(place)
        self.root = next((place for place, word in enumerate(words) if word.head == place), 0)

    def below(self, top: int) -> Indices:
        """Return the word and all below it."""
        return sorted([top, *(place for child in self.children[top] for place in self.below(child))])

    def child(self, top: int, *deps: str) -> int | None:
        """Return the first child of `top` with one of the relations `deps`."""
        return next((child for child in self.children[top] if self.words[child].dep in deps), None)

    def specifiers(self, noun: int) -> Indices:
        """Return the children of a noun that say which of its kind it is: all but determiners and punctuation."""
        return [child for child in self.children[noun] if self.words[child].dep not in ("det", "punct", "predet")]

    def low(self, place: int) -> str:
        """Return the word in lower case."""
        return self.words[place].text.lower()

    def text(self, places: Indices) -> str:
        """Return the words from the first to the last place as they stand, with single blanks."""
        return " ".join(self.sentence[self.words[places[0]].start : self.words[places[-1]].end].split())

    def joined(self, *pieces: str | Indices) -> str:
        """Join words and strings, spaced and punctuated as English is."""
        parts = []
        for piece in pieces:
            if isinstance(piece, str):
                parts.append(piece)
                continue
            for turn, place in enumerate(piece):
                word = self.words[place]
                if word.dep == "advmod" and self.low(place) in _LINKING:
                    continue
                text = LONG.get(word.text.replace("’", "'"), word.text)
                glued = turn and piece[turn - 1] == place - 1 and self.words[place - 1].end == word.start
                parts.append(f"\b{text}" if glued and text == word.text else text)
        line = re.sub(r"\s+", " ", " ".join(filter(None, parts)).replace(" \b", "").replace("\b", ""))
        line = re.sub(r"\s+([,.;:!?)\]%])(?=[\s,.;:!?)\]]|$)", r"\1", line)
        line = re.sub(r"\(\s*\)", "", re.sub(r"([(\[])\s+", r"\1", line))
        line = re.sub(r"(,\s*)+(?=[,?.])", "", re.sub(r"\bcan not\b", "cannot", line))
        return line.strip(" ,;:-–—")


@dataclass(frozen=True, slots=True)
class Clause:
    """The main clause: what precedes it, its subject (empty: a command), auxiliaries, verb and rest."""

    before: Indices
    subject: Indices
    between: Indices
    verb: int
    rest: Indices


def clause(tree: Tree) -> Clause | None:
    """Return the main clause of a sentence; None where a question of it would be ungrammatical."""
    words, verb = tree.words, tree.root
    subject_head = tree.child(verb, "nsubj", "nsubjpass")
    helpers = [c for c in tree.children[verb] if words[c].dep in ("aux", "auxpass", "neg") and c < verb]
    if tree.child(verb, "csubj", "csubjpass", "expl") is not None or words[verb].tag[:2] != "VB":
        return None
    if subject_head is None:
        if (
            words[verb].tag not in ("VB", "VBP")
            or words[verb].lemma.lower() in _POINTERS
            or any(words[c].lemma not in ("do", "not") for c in helpers)
        ):
            return None
        subject, first = [], min([verb, *helpers])
    else:
        subject = tree.below(subject_head)
        first = subject[0]
        if not unbroken(subject) or subject[-1] >= verb:
            return None
        if not any(words[c].dep != "neg" and words[c].tag != "TO" for c in helpers) and words[verb].tag not in DO:
            return None
    before = _lead_in(tree, first)
    if before is None:
        return None
    between = list(range(subject[-1] + 1 if subject else first, verb))
    return Clause(before, subject, between, verb, list(range(verb + 1, _clause_end(tree, verb))))


def unbroken(places: Indices) -> bool:
    """Return whether the places follow each other without a gap."""
    return places == list(range(places[0], places[-1] + 1))


def _lead_in(tree: Tree, first: int) -> Indices | None:
    """Return what precedes the clause, without "However," and the like; None when it is no phrase or clause."""
    start = 0
    while start < first and tree.low(start) in _OPENERS:
        start += 1
    places = list(range(start, first))
    if not places:
        return []
    while places and tree.low(places[-1]) in ("please", "then", ","):
        places.pop()
    opening = tree.words[start]
    fits = opening.dep in ("prep", "mark", "advmod", "npadvmod", "aux") or opening.tag in (
        "IN",
        "WRB",
        "TO",
        "VBG",
        "VBN",
    )
    if not fits or tree.low(start) in ("of", "that", "than"):
        return None
    if any(tree.words[p].head == tree.root and tree.words[p].dep in ("ccomp", "conj") for p in places):
        return None
    # What refers elsewhere is left out, unless it is a condition.
    return places if opening.dep == "mark" or not any(points(tree, place) for place in places) else []


def _clause_end(tree: Tree, verb: int) -> int:
    """Return where the clause ends: at the full stop, a dash, a colon, or another clause."""
    words = tree.words
    end = len(words)
    for child in (c for c in tree.children[verb] if c > verb):
        places = tree.below(child)
        leads_off = words[child].dep == "advcl" and any(points(tree, place) for place in places)
        if words[child].dep in ("conj", "parataxis") or leads_off:
            end = min(end, places[0])
    marks = [p for p in range(verb + 1, end) if words[p].text in (";", ":", "—", "–", "--", "-")]
    marks = [p for p in marks if words[p].text not in "-–" or words[p - 1].end < words[p].start]
    end = min([end, *marks])
    while end > verb + 1 and words[end - 1].dep in ("cc", "punct", "preconj") and words[end - 1].text not in ")]%":
        end -= 1
    return end


def points(tree: Tree, place: int, *, owner: bool = False) -> bool:
    """Return whether a word refers to another sentence; "its" does not where its `owner` is named."""
    word = tree.words[place]
    if owner and word.tag == "PRP$":
        return False
    return points_that(tree, place) or (word.text.lower() in _POINTING and word.tag not in ("WDT", "IN"))


def points_that(tree: Tree, place: int) -> bool:
    """Return whether the word is "that" before a noun."""
    return tree.low(place) == "that" and tree.words[place].tag == "DT"
