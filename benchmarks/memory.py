"""Peak memory of indexing 100,000 chunks: vectors + model + at most 300 MB, however many documents they are in.

With `--characters N`: of reading, cutting and indexing one file of N characters, at most ten times its bytes. What is
counted is the resident memory of the process and of all that it starts, sampled every 10 ms, less that of the process
alone after all imports and a small file; vectors come from an endpoint in another process. A line for each language and
chunker: `reading`, `all` beside the vectors, and `with_vectors`, in times the bytes.

Without it, each side is a process of its own, in which a small random model of 384 dimensions (real weights' speed does
not matter here) embeds the chunks. `model` is that process' peak after the model has embedded one window of texts.
Prints one JSON line: peaks with the chunks in few and in many documents, and what is left beside the model and the
vectors.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO

import psutil

from ragviz.index.chunking import CHUNKERS

WORDS = [f"word{n}" for n in range(5000)]
TOKENS = 16  # a chunk: short, so that 100,000 are embedded in minutes
WORD_TOKENS = 3.58  # the packaged tokenizer makes of one of the words
DIMS = 384
LIMIT_MB = 300


def peak_mb() -> float:
    """Peak resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make_model(folder: Path) -> None:
    """Write a SentenceTransformer of one small layer with the packaged tokenizer."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import AutoTokenizer, BertConfig, BertModel

    from ragviz.models import weights

    tokenizer = AutoTokenizer.from_pretrained(weights.packaged())
    shape = {"hidden_size": DIMS, "num_hidden_layers": 1, "num_attention_heads": 6, "intermediate_size": 384}
    BertModel(BertConfig(vocab_size=len(tokenizer), **shape)).save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    transformer = Transformer(str(folder / "bert"), max_seq_length=64)
    SentenceTransformer(modules=[transformer, Pooling(DIMS)]).save(str(folder / "model"))


def index(folder: Path, chunks: int, documents: int) -> dict[str, float]:
    """Build one index in this process and return its peaks."""
    from ragviz.core.configuration import IndexConfig
    from ragviz.core.document import Document
    from ragviz.core.settings import Settings
    from ragviz.index import indexing
    from ragviz.workspace import Workspace

    workspace = Workspace(Settings(_env_file=None, home=folder / f"home-{documents}"))  # type: ignore[call-arg]
    corpus = workspace.store.corpora.add("benchmark")
    choose = random.Random(documents)
    for number in range(documents):
        text = " ".join(choose.choices(WORDS, k=round(chunks / documents * TOKENS / WORD_TOKENS)))
        name = f"{number}.txt"
        document = Document(Document.make_id(name, text), name, text, (), "en", "text/plain", name, len(text))
        workspace.store.documents.add(corpus.id, document)
    model = str(folder / "model")
    texts = [" ".join(choose.choices(WORDS, k=TOKENS // 2)) for _ in range(indexing.WINDOW)]
    workspace.embedder(model).embed(texts, "passage")
    before = peak_mb()
    built = indexing.build_index(workspace, corpus, "benchmark", IndexConfig(chunk_size=TOKENS, embedder=model))
    return {"chunks": built.chunks, "documents": documents, "model": before, "peak": peak_mb()}


def text_of(language: str, characters: int) -> str:
    """Return Markdown of so many characters: sections of paragraphs, in English or Chinese; or only underscores."""
    if language == "underscores":
        return "_" * characters
    choose, pieces, length = random.Random(language), [], 0
    ideographs = (
        "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面"
    )
    while length < characters:
        if language == "zh":
            paragraph = "".join("".join(choose.choices(ideographs, k=choose.randint(8, 40))) + "。" for _ in range(5))
        else:
            paragraph = " ".join(f"{' '.join(choose.choices(WORDS, k=12)).capitalize()}." for _ in range(5))
        pieces.append(f"## {paragraph[:8].strip()}\n\n{paragraph}\n\n" if length % 7 == 0 else f"{paragraph}\n\n")
        length += len(pieces[-1])
    return "".join(pieces)[:characters]


VECTORS = [[random.Random(seed).uniform(-1, 1) for _ in range(DIMS)] for seed in range(100)]
DRAWN = {
    "float": [json.dumps(vector) for vector in VECTORS],
    "base64": [json.dumps(b64encode(struct.pack(f"<{DIMS}f", *vector)).decode()) for vector in VECTORS],
}
"""Vectors of an endpoint, as JSON."""


class Vectors(BaseHTTPRequestHandler):
    """An endpoint whose embeddings are drawn by the text's checksum."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer with a vector for each text."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        drawn = DRAWN[body.get("encoding_format", "float")]
        rows = (drawn[zlib.crc32(text.encode()) % len(drawn)] for text in body["input"])
        data = ", ".join(f'{{"object": "embedding", "index": {n}, "embedding": {row}}}' for n, row in enumerate(rows))
        usage = '{"prompt_tokens": 1, "total_tokens": 1}'
        reply = f'{{"object": "list", "model": "drawn", "data": [{data}], "usage": {usage}}}'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def endpoint() -> Iterator[str]:
    """Address of an endpoint of this process."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Vectors)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()


def index_one(folder: Path, language: str, chunker: str) -> None:
    """Read, cut and index one file in this process; print a line before, between and after."""
    from ragviz.core.configuration import IndexConfig
    from ragviz.core.settings import Settings
    from ragviz.documents import corpora
    from ragviz.index import indexing
    from ragviz.workspace import Workspace

    home = folder / f"home-{language}-{chunker}"
    workspace = Workspace(Settings(_env_file=None, home=home))  # type: ignore[call-arg]
    config = IndexConfig(chunker=chunker, chunk_size=200, overlap=20, embedder="openai:drawn")
    small, corpus = workspace.store.corpora.add("small"), workspace.store.corpora.add("benchmark")
    (folder / "small.md").write_text(text_of(language, 2000), encoding="utf-8")  # all imports happen now
    corpora.add_files(workspace, small, [("small.md", folder / "small.md")])
    indexing.build_index(workspace, small, "small", config)
    file = folder / f"{language}.md"
    print(json.dumps({}), flush=True)
    corpora.add_files(workspace, corpus, [(file.name, file)])
    print(json.dumps({}), flush=True)
    built = indexing.build_index(workspace, corpus, "benchmark", config)
    print(json.dumps({"chunks": built.chunks, "cpu_s": time.process_time()}), flush=True)


def resident_mb(process: psutil.Process) -> float:
    """Resident memory of a process and of all that it started, in MiB."""
    total = 0
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # it has just ended
            total += each.memory_info().rss
    return total / 2**20


class Watch:
    """Samples the memory of a process and its children from a thread."""

    def __init__(self, pid: int) -> None:
        self._process, self._ended = psutil.Process(pid), threading.Event()
        self.most = resident_mb(self._process)
        threading.Thread(target=self._sample, daemon=True).start()

    def _sample(self) -> None:
        while not self._ended.wait(0.01):
            with suppress(psutil.NoSuchProcess):
                self.most = max(self.most, resident_mb(self._process))

    def end(self) -> float:
        """Return the peak, in MiB."""
        self._ended.set()
        return self.most


def read_line(output: IO[str]) -> dict[str, float]:
    """The next line that a side prints."""
    line: dict[str, float] = json.loads(output.readline())
    return line


def watch_one(folder: Path, language: str, chunker: str, url: str) -> dict[str, float]:
    """Index one file in its own process and sample its memory."""
    command = [sys.executable, __file__, "--one", str(folder), language, chunker]
    environment = os.environ | {"OPENAI_BASE_URL": url}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as side:
        assert side.stdout is not None
        read_line(side.stdout)
        before = psutil.Process(side.pid).memory_info().rss / 2**20
        watch = Watch(side.pid)
        read_line(side.stdout)
        added = watch.most - before
        built = read_line(side.stdout)
        most = watch.end() - before
    size = (folder / f"{language}.md").stat().st_size / 2**20
    vectors = built["chunks"] * DIMS * 4 / 2**20
    return {
        "file_mb": size,
        "before_mb": before,
        "vectors_mb": vectors,
        "reading": added / size,
        "all": (most - vectors) / size,
        "with_vectors": most / size,
        **built,
    }


def in_process(*arguments: str) -> dict[str, float]:
    """Run one side in its own process."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def measured(folder: Path, chunks: int, documents: int) -> dict[str, float]:
    """Build an index of so many chunks in its own process."""
    return in_process("--side", str(folder), str(documents), "--chunks", str(chunks))


def measure_one(folder: Path, characters: int, languages: Sequence[str], chunkers: Sequence[str]) -> float:
    """Print a line for each language and chunker; return the greatest peak in times the bytes of the file."""
    most = 0.0
    for language in languages:
        (folder / f"{language}.md").write_text(text_of(language, characters), encoding="utf-8")
        for chunker in chunkers:
            with endpoint() as url:
                side = watch_one(folder, language, chunker, url)
            result = {"benchmark": "memory of one document", "language": language, "chunker": chunker, "at_most": 10}
            print(json.dumps(result | {key: round(value, 2) for key, value in side.items()}), flush=True)
            most = max(most, side["all"], side["reading"])
    return most


def main() -> None:
    """Measure, print, and end with 1 when the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--side", nargs=2, metavar=("FOLDER", "DOCUMENTS"), help=argparse.SUPPRESS)
    parser.add_argument("--characters", type=int, help="measure one document of this length")
    parser.add_argument("--languages", nargs="+", default=["en", "zh", "underscores"])
    parser.add_argument("--chunkers", nargs="+", default=list(CHUNKERS))
    parser.add_argument("--one", nargs=3, metavar=("FOLDER", "LANGUAGE", "CHUNKER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        folder, language, chunker = options.one
        index_one(Path(folder), language, chunker)
        return
    if options.side:
        print(json.dumps(index(Path(options.side[0]), options.chunks, int(options.side[1]))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.characters:
            sys.exit(measure_one(folder, options.characters, options.languages, options.chunkers) > 10)
        make_model(folder)
        few, many = measured(folder, options.chunks, 100), measured(folder, options.chunks, 5000)
    vectors = max(few["chunks"], many["chunks"]) * DIMS * 4 / 2**20
    extra = [side["peak"] - side["model"] - vectors for side in (few, many)]
    result = {
        "benchmark": "memory",
        "few_documents": few,
        "many_documents": many,
        "vectors_mb": round(vectors, 1),
        "beside_model_and_vectors_mb": [round(mb, 1) for mb in extra],
        "limit_mb": LIMIT_MB,
        "growth_with_documents_mb": round(extra[1] - extra[0], 1),
        "ratio": round(max(extra) / LIMIT_MB, 3),
    }
    print(json.dumps(result))
    sys.exit(max(extra) > LIMIT_MB)


if __name__ == "__main__":
    main()
