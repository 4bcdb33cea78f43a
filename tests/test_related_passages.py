"""Passages offered to a model for one question: they share rare entities, planted here, and nothing else is offered."""

from itertools import pairwise

import pytest

from ragviz.claims.source_claim import SourceClaim
from ragviz.core.chunk import Chunk
from ragviz.core.document import Document
from ragviz.core.span import Evidence
from ragviz.generation import entities, related_passages
from ragviz.generation.exact_search import ExactSearch
from ragviz.retrieval import gold

TEXTS = {
    "guilds": "The Weavers Guild was founded in 1412.\n\nThe Weavers Guild meets in Tallow Hall.\n\nBread is a penny.",
    "halls": "Tallow Hall burned down in 1666.\n\nTallow Hall was built of stone from Ardel Quarry.",
    "quarries": "Ardel Quarry closed in 1701.\n\nNobody knows the Salt Road.",
    "copies": "The Weavers Guild was founded in 1412!",
}


class Documents:
    """Documents of which every paragraph is a chunk, as `IndexedDocuments` gives them."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.by_id = {name: document(name, text) for name, text in texts.items()}
        self.cuts: dict[str, list[gold.Cut]] = {}
        for name, text in texts.items():
            ends = [at for at, pair in enumerate(pairwise(text)) if pair == ("\n", "\n")] + [len(text)]
            starts = [0] + [end + 2 for end in ends[:-1]]
            pairs = zip(starts, ends, strict=True)
            self.cuts[name] = [(Chunk.make_id(name, start, end), start, end) for start, end in pairs]

    def holding(self, evidence: Evidence) -> tuple[str, ...]:
        return tuple(i for group in gold.gold_chunks(evidence, self.cuts.__getitem__) for i in group)

    def chunk(self, chunk_id: str) -> Chunk:
        name, start, end = Chunk.parse_id(chunk_id)
        return Chunk(chunk_id, name, start, end, TEXTS[name][start:end], 0)


def document(name: str, text: str) -> Document:
    return Document(name, f"{name}.txt", text, (), "en", "text/plain", "", len(text))


def read(texts: dict[str, str], names: list[str]) -> entities.Claims:
    """The corpus with a claim about each name."""
    search = ExactSearch([document(name, text) for name, text in texts.items()])
    claims = [
        SourceClaim("guilds", 0, 5, "", "fact", f"What is {name}?", "x", "", name, "en", entities=(name,))
        for name in names
    ]
    return entities.of_claims(claims, search)


NAMES = ["Weavers Guild", "Tallow Hall", "Ardel Quarry", "Salt Road"]


def groups(passages: int, seed: int = 0) -> list[list[str]]:
    found = related_passages.groups(read(TEXTS, NAMES), Documents(TEXTS), passages, seed)  # type: ignore[arg-type]
    return [[chunk.text for chunk in group] for group in found]


def shared(one: str, other: str) -> list[str]:
    return [name for name in NAMES if name in one and name in other]


@pytest.mark.parametrize("passages", [2, 3])
def test_chunks_of_a_group_are_linked_by_rare_names(passages):
    found = groups(passages)
    assert found
    for group in found:
        assert len(set(group)) == passages
        reached = {group[0]}
        for _ in group:
            reached |= {text for text in group if any(shared(text, other) for other in reached)}
        assert reached == set(group), "no chunk stands alone"
    assert len({frozenset(group) for group in found}) == len(found), "no group twice"


def test_a_chain_over_two_names_is_found_and_what_names_nothing_rare_is_not():
    assert any(
        [any(name in text for text in group) for name in ("Weavers", "Ardel Quarry closed")] == [True, True]
        for group in groups(3)
    ), "no chunk names both: the third one links them"
    every = [text for n in (2, 3, 4) for group in groups(n) for text in group]
    assert not [text for text in every if "Bread" in text or "Salt" in text], "what one chunk holds links nothing"


def test_near_copies_are_not_joined():
    assert not [group for group in groups(2) if all("founded in 1412" in text for text in group)]


def test_other_documents_are_taken_first():
    [group] = [group for group in groups(2) if group[0].startswith("Tallow Hall burned")]
    assert group[1] == "The Weavers Guild meets in Tallow Hall."


def test_the_order_is_that_of_the_seed_and_a_chunk_begins_two_groups_at_most():
    assert groups(2) == groups(2)
    assert any(groups(2) != groups(2, seed) for seed in range(1, 6))
    firsts = [group[0] for group in groups(2)]
    assert max(map(firsts.count, firsts)) <= related_passages.STARTED


def test_more_passages_than_are_linked_give_no_group():
    assert groups(6) == []
