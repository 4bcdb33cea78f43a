"""The question that the items of an English list answer, from the sentence that introduces them."""

from __future__ import annotations

import re

from ragviz.claims import english, english_clauses
from ragviz.claims.candidate import Indices, word_set
from ragviz.claims.english_clauses import Clause, Tree
from ragviz.claims.english_phrases import CONNECTIVE

_NO_LIST = re.compile(
    r"\b(?:such as|including|e\.g|for example|steps?|examples?|like|and|or)\.?$|\b(?:steps|instructions|examples?)\b"
    r"|^(?:some|several|many|a few) of\b",
    re.IGNORECASE,
)
"""The items are some of many, or say what to do, one after the other."""
_REFERS = re.compile(
    r"\b(?:it|they|them|this|that|he|she|here|there|above|below|those|including|i|my|same|other|another)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:the|an?|some|several|many|our|your) ", re.IGNORECASE)
_INTRANSITIVE = word_set(
    "suffice exist happen occur appear arise emerge remain work differ vary fail matter apply belong come go look seem"
)
"""Verbs that have no object: what follows their sentence is no answer to "what does it …?"."""
_HYPOTHETICAL = word_set("would could might")
_VERBS = frozenset({"VBZ", "VBD", "VBP", "MD", "VB"})


def question_of(tree: Tree) -> tuple[str, str] | None:
    """Return the question, begun in lower case, and its subject ("" where the items are it); None where it is unclear.

    "The form needs these three stamps:" asks which three stamps it needs, "The desk lends:" what it lends, "The
    following roles approve leave:" which roles approve it, "Requirements for a visa:" what they are.
    """
    text = tree.sentence
    if len(tree.words) < 4 or CONNECTIVE.match(text) or _NO_LIST.search(text.rstrip(" .:")):
        return None
    clause = english_clauses.clause(tree)
    if clause is None or not clause.subject:
        return _of_noun(tree)
    if _REFERS.search(text) or len(clause.before) == 1 or not _goes_to_the_end(tree, clause):
        return None
    announced = _announced(tree, clause)
    if any(tree.words[p].tag in ("JJS", "RBS", "WDT", "WP") for p in announced):
        return None
    return (
        _of_subject(tree, clause, announced)
        if announced and announced[0] < clause.verb
        else _of_object(tree, clause, announced)
    )


def _goes_to_the_end(tree: Tree, clause: Clause) -> bool:
    last = clause.rest[-1] if clause.rest else clause.verb
    return all(word.tag in (".", ":") for word in tree.words[last + 1 :])


def _announced(tree: Tree, clause: Clause) -> Indices:
    """Return the words of "the following documents", "these forms", "three roles", that name the items."""
    words = tree.words
    for place, word in enumerate(words):
        low = tree.low(place)
        if low not in ("following", "these") and not (word.tag == "CD" and word.dep == "nummod"):
            continue
        head = word.head if word.dep in ("amod", "det", "nummod") else place
        places = [p for p in tree.below(head) if words[p].tag not in (".", ":")]
        is_named = words[head].tag == "NNS" or tree.low(head) == "following"
        governs = words[head].head == clause.verb and words[head].dep in ("dobj", "attr", "nsubj", "nsubjpass")
        if is_named and governs and english_clauses.unbroken(places):
            return places
    return []


def _of_subject(tree: Tree, clause: Clause, announced: Indices) -> tuple[str, str] | None:
    """Ask for "the following roles" that do something."""
    if announced != clause.subject or len(clause.rest) < 1 or tree.words[clause.rest[-1]].tag in ("TO", "IN"):
        return None
    if tree.words[clause.verb].lemma == "be" and not any(
        tree.words[p].tag[:2] == "NN" for p in (*announced[:-1], *clause.rest)
    ):
        return None  # "two boats are available": whose?
    return f"{tree.joined(_which(tree, announced), [*clause.between, clause.verb], clause.rest)}?", ""


def _of_object(tree: Tree, clause: Clause, announced: Indices) -> tuple[str, str] | None:
    """Ask for what the verb has as its object: the announced words, or what is missing after it."""
    last = clause.rest[-1] if clause.rest else clause.verb
    is_missing = last == clause.verb and tree.words[last].lemma != "be"
    if not (announced[-1] == last if announced else is_missing) or tree.words[last].tag == "IN":
        return None
    is_open = tree.words[clause.verb].lemma in _INTRANSITIVE
    if not announced and (is_open or any(tree.low(p) in _HYPOTHETICAL for p in clause.between)):
        return None  # "a short list would suffice:"
    if not announced and tree.child(clause.verb, "auxpass") is not None:  # "a guide can be found": where?
        return None
    others = [p for p in (*clause.before, *clause.rest) if p not in announced and tree.words[p].tag[:2] == "NN"]
    if not announced and not others and tree.low(clause.subject[0]) in ("you", "we"):  # "you should check:"
        return None
    subject = english.inside(tree, clause.subject, tree.joined(clause.subject))
    line = _inverted(tree, clause, announced, subject)
    return (line, _ARTICLE.sub("", subject)) if line else None


def _which(tree: Tree, announced: Indices) -> str:
    """Return "which documents" for "the following documents", "what" for "the following"."""
    noun = next((p for p in announced if tree.words[p].tag == "NNS"), announced[-1])
    kept = [p for p in announced if p > noun or tree.low(p) not in ("the", "following", "these", "all", "of")]
    return f"which {english.inside(tree, kept, tree.joined(kept))}" if kept else "what"


def _inverted(tree: Tree, clause: Clause, announced: Indices, subject: str) -> str:
    """Return the clause as a question for the announced words, "" where it has no form."""
    words, verb = tree.words, clause.verb
    wh = _which(tree, announced) if announced else "what"
    rest = [p for p in clause.rest if p not in announced]
    helpers = [p for p in clause.between if words[p].dep in ("aux", "auxpass") and words[p].head == verb]
    if words[verb].lemma == "be" and not helpers:
        pieces: tuple[str | Indices, ...] = (english.full(words[verb]), subject, clause.between)
    elif helpers:
        pieces = (english.full(words[helpers[0]]), subject, [p for p in clause.between if p != helpers[0]], [verb])
    elif words[verb].tag in english_clauses.DO:
        pieces = (english_clauses.DO[words[verb].tag], subject, clause.between, words[verb].lemma)
    else:
        return ""
    line = tree.joined(wh, *pieces, rest)
    if before := tree.joined(clause.before):
        line = f"{english.inside(tree, clause.before, before)}, {line}"
    return f"{line.rstrip(' .,:;')}?"


def _of_noun(tree: Tree) -> tuple[str, str] | None:
    """Return the question after "There are three kinds of tickets:" and "Requirements for a visa:"."""
    words, root = tree.words, tree.root
    if words[root].lemma == "be" and tree.child(root, "expl") is not None:
        head = tree.child(root, "attr", "nsubj")
        before = [p for p in range(len(words)) if p < root and words[p].dep != "expl"]
        if head is None or words[head].tag != "NNS" or tree.child(root, "neg") is not None or before:
            return None
        places = [p for p in tree.below(head) if words[p].tag not in (".", ":")]
        is_told = english_clauses.unbroken(places) and len(places) >= 4  # not "sets of files"
        text = tree.joined(places) if is_told else ""
    elif words[root].tag == "NNS" and not any(word.tag in _VERBS for word in words):
        is_begun = words[0].tag not in ("IN", "RB", "VBG", "PRP", "CC")
        is_begun = is_begun and not any(word.tag in ("CD", "DT") for word in words[1:root])
        text = english.inside(tree, list(range(len(words))), tree.sentence.rstrip(" .:")) if is_begun else ""
    else:
        text = ""
    return (f"what are the {_ARTICLE.sub('', text)}?", "") if text and not _REFERS.search(text) else None
