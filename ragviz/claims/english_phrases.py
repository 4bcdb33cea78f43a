"""Words of English sentences by their grammar: what connects them, the names in them, whether one holds another."""

from __future__ import annotations

import re

from ragviz.claims.candidate import Indices
from ragviz.claims.english_clauses import Tree

CONNECTIVE = re.compile(
    r"(?:For (?:example|instance)|(?:In|By) contrast|In (?:addition|particular|fact|short|turn|other words|this|that)"
    r"|That said|As (?:such|a result)|Of course|At the same time|On the (?:other hand|contrary)|In the meantime"
    r"|In (?:most|some|many) cases|Meanwhile|Otherwise|Instead|Finally|Then|Again|Note)\b"
)
"""What a sentence begins with that continues what was said before."""

_WORD = re.compile(r"[\w$€£%]+")
_UNNAMED = frozenset({"CARDINAL", "ORDINAL", "DATE", "TIME", "PERCENT", "MONEY", "QUANTITY"})


def entities(tree: Tree) -> tuple[str, ...]:
    """Return the names and the noun phrases of several words in a sentence, as they stand there, in order."""
    words = tree.words
    found: list[str] = []
    run: Indices = []
    for place in range(len(words) + 1):
        word = words[place] if place < len(words) else None
        nominal = word is not None and (
            word.tag[:2] == "NN" or (word.entity and word.entity not in _UNNAMED and word.tag not in ("DT", "POS"))
        )
        if nominal and word is not None and (not run or word.entity == words[run[-1]].entity or word.dep == "compound"):
            run.append(place)
            continue
        named = run and any(words[p].tag[:3] == "NNP" or words[p].entity for p in run)
        if run and (len(run) > 1 or named or re.search(r"[._\d]|.[A-Z]", words[run[0]].text)):
            found.append(tree.text(run))
        run = [place] if nominal else []
    return tuple(dict.fromkeys(found))


def holds(question: str, answer: str) -> bool:
    """Return whether the question holds the answer, whatever their articles, capitals and marks."""
    said, asked = (" ".join(_WORD.findall(text.lower())) for text in (answer, question))
    return f" {re.sub('^(?:the|an|a) ', '', said)} " in f" {asked} "


def gives(question: str, answer: str) -> bool:
    """Return whether the question holds the answer, or nearly: all but one of its three words or more."""
    said = [word for word in _WORD.findall(answer.lower()) if word not in ("the", "a", "an", "of", "and", "or", "to")]
    asked = " ".join(_WORD.findall(question.lower()))
    missing = [word for word in said if word.rstrip("s") not in asked]
    return holds(question, answer) or (len(said) >= 3 and len(missing) <= 1 and any(word.isalpha() for word in said))
