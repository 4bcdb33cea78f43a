"""Objects of LangChain, LlamaIndex and Haystack, asked as they are; `make libraries` installs these."""

from typing import Any

import pytest

from ragviz.core.question import Question
from ragviz.targets.callables import Called
from ragviz.targets.logged_item import LoggedItem

QUESTION = Question("q", "When does the pool open?", "", (), "hand")
TEXT = "The pool opens at nine."


def asked(target: Any) -> LoggedItem:
    item = Called(target).ask(QUESTION)
    assert item.error == ""
    return item


def test_chains_of_langchain() -> None:
    core = pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    find = RunnableLambda(lambda text: [Document(page_content=TEXT, metadata={"source": "pool.txt"}, id="d1")])
    prompt = ChatPromptTemplate.from_template("{context} {question}")
    answer = prompt | FakeListChatModel(responses=["At nine."] * 3)
    assert asked({"context": find, "question": RunnablePassthrough()} | answer).answer == "At nine.", core.__version__
    assigned = RunnablePassthrough.assign(context=(lambda given: given["question"]) | find)
    item = asked(assigned.assign(answer=answer | StrOutputParser()))
    assert (item.answer, [(each.text, each.id, each.document) for each in item.contexts]) == (
        "At nine.", [(TEXT, "d1", "pool.txt")],
    )  # fmt: skip
    assert [each.text for each in asked(find).contexts] == [TEXT]
    chains = pytest.importorskip("langchain_classic.chains")
    from langchain_classic.chains.combine_documents import create_stuff_documents_chain

    stuffed = create_stuff_documents_chain(
        FakeListChatModel(responses=["At ten."]), ChatPromptTemplate.from_template("{context} {input}")
    )
    item = asked(chains.create_retrieval_chain(find, stuffed))
    assert (item.answer, len(item.contexts)) == ("At ten.", 1)


def test_query_engines_of_llamaindex() -> None:
    core = pytest.importorskip("llama_index.core")
    from llama_index.core.llms import MockLLM

    index = core.VectorStoreIndex.from_documents(
        [core.Document(text=TEXT, metadata={"file_name": "pool.txt"})], embed_model=core.MockEmbedding(embed_dim=8)
    )
    for streaming in (False, True):
        item = asked(index.as_query_engine(llm=MockLLM(max_tokens=2), streaming=streaming))
        [passage] = item.contexts
        assert (item.answer, passage.text, passage.document) == ("text text", TEXT, "pool.txt")
        assert passage.score == pytest.approx(1.0)


def test_pipelines_of_haystack() -> None:
    haystack = pytest.importorskip("haystack")
    from haystack.components.builders import PromptBuilder
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    @haystack.component
    class Model:
        @haystack.component.output_types(replies=list[str])
        def run(self, prompt: str) -> dict[str, list[str]]:
            return {"replies": [f"{'nine' in prompt}"]}

    store = InMemoryDocumentStore()
    store.write_documents([haystack.Document(content=TEXT, meta={"file_path": "pool.txt"})])
    pipeline = haystack.Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=1))
    words = "{% for each in documents %}{{each.content}}{% endfor %} {{question}}"
    pipeline.add_component("prompt", PromptBuilder(words, required_variables=["question"]))
    pipeline.add_component("model", Model())
    pipeline.connect("retriever", "prompt.documents")
    pipeline.connect("prompt", "model")
    item = asked(pipeline)
    assert (item.answer, [(each.text, each.document) for each in item.contexts]) == ("True", [(TEXT, "pool.txt")])
