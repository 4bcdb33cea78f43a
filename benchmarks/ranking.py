"""CPU time of all ranking metrics for k = 1 … 50 ÷ pytrec_eval's for four of them at ten cut-offs, in one run.

10,000 questions × 100 results. Both sides start from the Python objects of a caller: `Retrieved` records, and
pytrec_eval's dictionaries and evaluator, built beforehand. The metrics of characters, which pytrec_eval lacks, have a
row of their own, at k = 10.
"""

import argparse
import gc
import time
from collections.abc import Callable

import numpy as np
import pytrec_eval
from rows import row

from ragviz.core.digests import digest
from ragviz.core.document import Chunk, Evidence, Span
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.metrics.characters import CHARACTERS, measure_characters
from ragviz.metrics.rank_metrics import RANKING, measure, read

QUESTIONS, RESULTS, CHUNKS, DEPTH, ROUNDS = 10_000, 100, 20_000, 50, 9
CUTS = "1,2,3,5,10,15,20,30,40,50"


def make() -> tuple[list[Retrieved], dict[str, Evidence]]:
    """Random rankings of a corpus of 200 documents; one to three groups of evidence, mostly found."""
    random = np.random.default_rng(0)
    documents = [digest(str(number)) for number in range(200)]
    cuts = [(documents[n // 100], n % 100 * 800, n % 100 * 800 + 800) for n in range(CHUNKS)]
    ids = [Chunk.make_id(*cut) for cut in cuts]
    results, evidence = [], {}
    for number in range(QUESTIONS):
        ranked = random.permutation(CHUNKS)[:RESULTS]
        gold = ranked[(random.random(random.integers(1, 4)) ** 2 * RESULTS).astype(int)]
        scores = np.sort(random.random(RESULTS))[::-1]
        ranking = Ranking(tuple(ids[n] for n in ranked), tuple(map(float, scores)))
        results.append(Retrieved(f"q{number}", ranking, tuple((ids[n],) for n in gold)))
        evidence[f"q{number}"] = tuple((Span(cuts[n][0], cuts[n][1] + 100, cuts[n][1] + 300),) for n in gold)
    return results, evidence


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    """Measure in turns, and compare the least of each: other work on the machine only adds."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    results, evidence = make()
    run = {r.question_id: dict(zip(r.ranking.ids, r.ranking.scores, strict=True)) for r in results}
    qrels = {r.question_id: {chunk_id: 1 for group in r.gold for chunk_id in group} for r in results}
    oracle = pytrec_eval.RelevanceEvaluator(qrels, {f"recall.{CUTS}", f"P.{CUTS}", f"ndcg_cut.{CUTS}", "recip_rank"})

    def rank_metrics() -> None:
        table = measure(read(results, DEPTH))
        for metric in RANKING.values():
            metric.function(table)

    def of_characters() -> None:
        characters = measure_characters(read(results, DEPTH), evidence, 10)
        for metric in CHARACTERS.values():
            metric.function(characters)

    times = np.array(
        [
            [
                seconds(rank_metrics),
                seconds(of_characters),
                seconds(lambda: oracle.evaluate(run)),
            ]
            for _ in range(ROUNDS)
        ]
    )
    chunks, characters, theirs = (float(value) for value in times.min(axis=0))
    size = f"{QUESTIONS:,} questions × {RESULTS} results"
    row(f"all ranking metrics ÷ pytrec-eval, {size}, k = 1…{DEPTH}", chunks, theirs, "s CPU", 0.5)
    row(f"character metrics at k = 10 ÷ pytrec-eval's of ranking, {size}", characters, theirs, "s CPU", 1)


if __name__ == "__main__":
    main()
