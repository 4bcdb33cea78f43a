"""What a sentence says something about: the names and compound nouns that it is about by its grammar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragviz.claims.candidate import Indices, word_set
from ragviz.claims.english_clauses import Tree
from ragviz.core.document import Word

DEEP = 4
"""Steps from a noun to the verb of its sentence at most."""

_SUBJECTS = ("nsubj", "nsubjpass")
_ROLES = {"nsubj": 2, "nsubjpass": 2, "dobj": 1, "attr": 1, "pobj": 1, "dative": 1}
"""Relation of a noun to the verb → how much the sentence is about it."""
_LINKS = frozenset({"prep", "agent", "xcomp", "acomp"})
"""Relations between a noun and its verb, none to another noun: "the key of the Gate" is not about the Gate."""
_UNNAMED = frozenset({"CARDINAL", "ORDINAL", "DATE", "TIME", "PERCENT", "MONEY", "QUANTITY"})
_POINTERS = word_set("see visit refer check note remember read learn view look click consult go")
_NO_SUBJECT = word_set("it they he she this these that those i who which what there here one another some both such")
_DEMONSTRATIVES = word_set("this that these those such")


@dataclass(frozen=True, slots=True)
class Named:
    """A name or compound noun in a sentence, as it stands there; `article` is "the" or "".

    `role`: 3 of the subject, 2 of the object, 1 of what stands after a preposition, 0 of what a part of it names.
    """

    name: str
    article: str
    role: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence at [start, end) of a document, and what it says something about, each once."""

    start: int
    end: int
    names: tuple[Named, ...]


def named_in(tree: Tree) -> tuple[Named, ...]:
    """Return what a parsed sentence says something about; nothing where its subject only points elsewhere."""
    return tuple({each.name: each for each in _named(tree)}.values()) if _states(tree) else ()


def named_at(tree: Tree, start: int, end: int) -> Named | None:
    """Return the name that is known to stand at [start, end) of a parsed sentence, if that says something about it.

    It has to be a whole noun phrase there, but for adjectives before it and what follows it.
    """
    inside = [p for p, word in enumerate(tree.words) if start <= word.start and word.end <= end]
    if not inside or not _states(tree) or tree.words[inside[-1]].tag[:2] not in ("NN", "CD"):
        return None
    head = inside[-1]
    before = tree.words[inside[0] - 1] if inside[0] else None
    if tree.words[head].dep in ("compound", "nmod", "amod") and tree.words[head].head not in inside:
        return None
    if before is not None and before.head in inside and (_is_part(before, begins=False) or before.tag == "PRP$"):
        return None
    article = "the" if before is not None and before.text.lower() == "the" else ""
    return Named(_written(tree, inside), article, _role(tree, head))


def _states(tree: Tree) -> bool:
    """Return whether a sentence is a statement or a command whose subject does not only point elsewhere."""
    if not tree.words:
        return False
    verb, subject = tree.words[tree.root], tree.child(tree.root, *_SUBJECTS)
    if verb.tag[:2] not in ("VB", "MD") or tree.child(tree.root, "expl", "csubj") is not None:
        return False
    if subject is None:
        return verb.tag in ("VB", "VBP") and verb.lemma.lower() not in _POINTERS
    below = (subject, *tree.children[subject])
    return not any(tree.low(p) in (_NO_SUBJECT if p == subject else _DEMONSTRATIVES) for p in below)


def _named(tree: Tree) -> Iterator[Named]:
    """Yield the names and compound nouns, without those inside a longer one."""
    reach = 0
    for place, word in enumerate(tree.words):
        inside = _name_at(tree, place) if word.tag[:2] == "NN" and word.dep not in ("compound", "nmod") else []
        if inside and inside[0] >= reach:
            reach = inside[-1] + 1
            before = tree.low(inside[0] - 1) if inside[0] else ""
            yield Named(_written(tree, inside), "the" if before == "the" else "", _role(tree, place))


def _written(tree: Tree, inside: Indices) -> str:
    """Return a name as inside a sentence: the capital of what begins one may be none of its own."""
    text, first = tree.text(inside), tree.words[inside[0]]
    named = first.tag[:3] == "NNP" and len(inside) > 1
    is_name = inside[0] > 0 or named or not first.text[1:].islower() or text[1:] != text[1:].lower()
    return text if is_name else text[:1].lower() + text[1:]


def _role(tree: Tree, place: int) -> int:
    word = tree.words[place]
    role = _ROLES.get(word.dep, 0)
    if not role or not _leads_to_the_verb(tree, place):
        return 0
    return 1 + (role if word.head == tree.root else 0)


def _leads_to_the_verb(tree: Tree, place: int) -> bool:
    place = tree.words[place].head
    for _ in range(DEEP):
        if place == tree.root:
            return True
        if tree.words[place].dep not in _LINKS:
            return False
        place = tree.words[place].head
    return place == tree.root


def _name_at(tree: Tree, head: int) -> Indices:
    """Return the words of the name or compound noun that a noun heads; none where it is a plain noun, or a date."""
    words = tree.words
    first = head
    while first and words[first - 1].head in range(first, head + 1) and _is_part(words[first - 1], begins=first == 1):
        first -= 1
    last = head
    if words[head].tag[:3] == "NNP":
        last = _with_complement(tree, head)
    inside = list(range(first, last + 1))
    if any(words[p].entity in _UNNAMED for p in inside) or not words[first].text[0].isalnum():
        return []
    owner = tree.child(head, "poss")
    if owner is not None and words[owner].tag[:3] == "PRP" and not words[head].text[:1].isupper():
        return []  # "your project team": of whoever is spoken to
    named = any(words[p].tag[:3] == "NNP" and words[p].text[:1].isupper() for p in inside)
    return inside if named or (len(inside) > 1 and words[head].tag in ("NN", "NNS")) else []


def _is_part(word: Word, *, begins: bool) -> bool:
    """Return whether a word before a noun is a part of its name: a noun, or a capitalised adjective.

    The capital of a word that `begins` its sentence says nothing.
    """
    if word.dep in ("compound", "nmod") and word.tag[:2] in ("NN", "HY", "FW"):
        return True
    capital = word.text[:1].isupper() and (not begins or word.tag[:3] == "NNP")
    return (word.dep in ("amod", "compound", "nmod") and capital) or word.tag == "HYPH"


def _with_complement(tree: Tree, head: int) -> int:
    """Return the last word of "Office of Management", a name that goes on after "of" or "for"."""
    prep = tree.child(head, "prep")
    if prep is None or prep != head + 1 or tree.low(prep) not in ("of", "for"):
        return head
    inner = tree.below(prep)
    fits = all(tree.words[p].tag[:3] == "NNP" or tree.low(p) in ("of", "for", "and", "the") for p in inner)
    return inner[-1] if fits and inner == list(range(prep, inner[-1] + 1)) else head
