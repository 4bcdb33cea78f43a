"""What every English question of a sentence fulfils, whatever rule made it: a sound clause, whole words, few of them.

The finished question is not parsed again: of 60 questions that a second parse contradicted, 56 were right, because the
parser knows few questions. The parse of the statement that it was made of shows by its agreement whether it is right.
"""

from __future__ import annotations

import re

from ragviz.claims.english_clauses import Clause, Tree

LONGEST = 26
"""Words of a question, without what tells where it belongs, at most."""

_PLURAL = frozenset({"do", "are", "were", "have"})
_SINGULAR = frozenset({"does", "is", "was", "has"})
_CUT = re.compile(r"\w[-–](?=[\s,.?]|$)|\b(\w+) \1\b|\(\s*\)|\b(?:a|an|the) (?:and|or|the|an?)\b", re.IGNORECASE)
"""Half of a compound ("printer-driver-"), a word twice, an article whose noun is gone."""
_TWICE = frozenset({"that that", "had had"})


def is_short(question: str) -> bool:
    """Return whether a question has no more words than somebody would ask it with."""
    return len(question.split()) <= LONGEST


def is_cut(text: str) -> bool:
    """Return whether a text has lost a part of a word or the noun of an article, or holds a word twice in a row.

    >>> is_cut("which names end in new-?"), is_cut("what is an e-mail?"), is_cut("what is the the fee?")
    (True, False, True)
    """
    return any(match.group().lower() not in _TWICE for match in _CUT.finditer(text))


def agrees(tree: Tree, clause: Clause) -> bool:
    """Return whether the subject and the finite verb of a clause agree in number, as far as common nouns show it.

    Where they do not, the parser took another word for the subject or the verb: "The ropes command moored at the quay
    also prints verbose lines" does not say what the command "verboses".
    """
    words = tree.words
    if not clause.subject:
        return True
    head = next((p for p in clause.subject if words[p].head not in clause.subject), clause.subject[0])
    helpers = [p for p in clause.between if words[p].dep in ("aux", "auxpass") and words[p].head == clause.verb]
    finite = words[helpers[0] if helpers else clause.verb]
    if _opens_with_a_verb(tree, clause) or words[clause.subject[0]].tag == "IN":
        return False
    if words[head].entity or not words[head].text.islower() or tree.child(head, "conj", "cc", "nummod") is not None:
        return True
    if finite.tag == "VBP" or finite.text.lower() in _PLURAL:
        of = tree.child(head, "prep")  # "a number of boats are"
        return words[head].tag != "NN" or of is not None
    if finite.tag == "VBZ" or finite.text.lower() in _SINGULAR:
        return words[head].tag != "NNS" or words[head].lemma.lower() == tree.low(head)
    return True


def _opens_with_a_verb(tree: Tree, clause: Clause) -> bool:
    """Return whether a sentence may begin with a verb that was taken for a plural noun: "Paints boats, …"."""
    words = tree.words
    first = words[0]
    return clause.subject[0] == 0 and first.tag in ("NNS", "VBZ") and first.dep in ("compound", "amod", "nmod")
