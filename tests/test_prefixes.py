"""Prefixes: what stands before a chunk when it is embedded and indexed, and that nothing else changes."""

import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Document
from ragviz.index import damage, indexing, prefixes
from ragviz.retrieval import search
from tests.builders import sample_with_models

TEXT = """\
# Leave

Everyone has leave.

## Parents

Parents have more.

### Fathers

Fathers have ten days.

## Sickness

Call your manager.

# Travel

Book early.
"""


def document(text: str = TEXT, name: str = "hr/staff_handbook-2024.md", media_type: str = "text/markdown") -> Document:
    return Document("d", name, text, (), "en", media_type, "", len(text))


@pytest.mark.parametrize(
    ("at", "above"),
    [
        ("# Leave", ""),
        ("Everyone", "Leave"),
        ("## Parents", "Leave"),
        ("Parents have", "Leave > Parents"),
        ("### Fathers", "Leave > Parents"),
        ("ten days", "Leave > Parents > Fathers"),
        ("## Sickness", "Leave"),
        ("manager", "Leave > Sickness"),
        ("# Travel", ""),
        ("Book", "Travel"),
    ],
)
def test_the_headings_above_a_chunk_are_those_of_its_section(at, above):
    words = prefixes.before(document(), "headings")(TEXT.index(at))
    assert words == " > ".join(filter(None, ["staff handbook 2024", above]))
    assert prefixes.before(document(), "title")(TEXT.index(at)) == "staff handbook 2024"
    assert prefixes.before(document(), "none")(TEXT.index(at)) == ""


def test_a_heading_that_repeats_the_title_is_said_once_and_a_long_path_keeps_its_end():
    same = document("# Staff Handbook 2024\n\nWelcome.")
    assert prefixes.before(same, "headings")(len(same.text) - 1) == "staff handbook 2024"
    long = "\n\n".join(f"{'#' * level} {str(level) * 60}" for level in range(1, 6)) + "\n\nText."
    words = prefixes.before(document(long), "headings")(len(long) - 1)
    assert words.startswith("staff handbook 2024 > ")
    assert words.endswith("5" * 60)
    assert len(words) <= prefixes.LONGEST
    assert len(prefixes.before(document("# " + "x" * 999 + "\n\ny"), "headings")(1002)) == prefixes.LONGEST


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with sample_with_models(tmp_path_factory.mktemp("home")) as (workspace, _, corpus):
        for prefix in prefixes.PREFIXES:
            config = IndexConfig(embedder="openai:bags", prefix=prefix, chunk_size=80)
            indexing.build_index(workspace, corpus, prefix, config)
        yield workspace


def test_only_what_is_embedded_and_searched_has_the_prefix(workspace):
    """The chunks of all three are the same; words that stand in the title alone are found in two of them."""
    infos = {name: workspace.store.indexes.get(name) for name in prefixes.PREFIXES}
    cuts = {name: workspace.store.indexes.cuts(info.build, info.documents) for name, info in infos.items()}
    for name in ("title", "headings"):
        assert {d: c.tolist() for d, c in cuts[name].items()} == {d: c.tolist() for d, c in cuts["none"].items()}
        assert infos[name].tokens == infos["none"].tokens
        assert not damage.damage(workspace, infos[name])
    documents = workspace.store.documents.all(infos["none"].corpus_id)
    texts = {d.id: workspace.store.documents.get(d.corpus_id, d.id) for d in documents}
    first = next(
        text for text in texts.values() if not {*prefixes.title_of(text).lower().split()} & {*text.text.lower().split()}
    )
    query = prefixes.title_of(first)
    found = {name: search.search(workspace, info, query, "bm25", 1000) for name, info in infos.items()}
    of_first = {
        name: {hit.hit.chunk_id for hit in hits if first.id in hit.hit.chunk_id} for name, hits in found.items()
    }
    everything = set(indexing.chunk_ids(first.id, cuts["none"][first.id]))
    assert of_first["title"] == of_first["headings"] == everything
    assert of_first["none"] < everything
    for hit in found["title"]:
        assert hit.chunk.text == texts[hit.chunk.document_id].text[hit.chunk.start : hit.chunk.end]
