"""What other choices would have measured, in words."""

from __future__ import annotations

from ragviz.analysis import growth, risk_coverage
from ragviz.analysis.approximation import Losses
from ragviz.analysis.what_if import Choices, Effect
from ragviz.core.run_info import Run
from ragviz.runs import searched_again, what_if
from ragviz.runs.what_if import Chosen, Growth, Held, Risk


def choices_words(held: Held, choices: Choices, constant: int | None) -> str:
    """Say what is compared, in a sentence."""
    own, config = what_if.own_choices(held.run), held.run.config

    def said(of: Choices, fused: int | None) -> str:
        parts = [f"k = {of.k}"]
        parts += [f"RRF constant {fused}"] if config.retriever == "hybrid" and fused is not None else []
        parts += [f"score at least {of.threshold:g}"] if of.threshold is not None else []
        parts += [f"{of.budget:,} tokens at most"] if of.budget is not None else []
        return ", ".join(parts)

    new = config.rrf_constant if constant is None else constant
    n = len(held.rankings.results)
    return (
        f"{said(choices, new)} against the run's own {said(own, config.rrf_constant)}; {n:,} questions with evidence."
    )


def cells(name: str, effect: Effect) -> tuple[str, str, str]:
    """Return a metric as the run has it, as it would be, and the difference with its interval."""
    digits = 0 if name == "tokens" else 3
    own, other = ("–" if each.mean is None else f"{each.mean:,.{digits}f}" for each in (effect.own, effect.other))
    return own, other, difference_words(effect, digits)


def difference_words(effect: Effect, digits: int) -> str:
    """Return a difference with its interval, "" when nothing was measured.

    >>> from ragviz.core.call import Estimate
    >>> one = Estimate(0.05, -0.01, 0.11, 80)
    >>> difference_words(Effect(one, one, one), 2)
    '+0.05 [-0.01, +0.11]'
    """
    moved = effect.difference
    if moved.mean is None:
        return ""
    return f"{moved.mean:+,.{digits}f} [{moved.low:+,.{digits}f}, {moved.high:+,.{digits}f}]"


def curve_words(risk: Risk, curve: risk_coverage.Curve) -> str:
    """Say what answering everything risks, and how well the scores tell which answers are wrong."""
    area = curve.aurc
    missing = "" if risk.judged else " (evidence not among the first k)"
    left_out = f" {risk.left_out:,} of which it is not known are left out." if risk.left_out else ""
    return (
        f"{curve.answered:,} of {curve.n:,} questions are answered, {curve.whole:.1%} of these wrong{missing}, "
        f"{risk.unanswerable:,} unanswerable ones among the questions. AURC {area.mean:.3f} [{area.low:.3f}, "
        f"{area.high:.3f}]: {curve.whole:.3f} if the scores told nothing, {curve.best:.3f} at best.{left_out}"
    )


def chosen_words(picked: Chosen, curve: risk_coverage.Curve) -> str:
    """Say which threshold keeps the risk, and what it does; with the warning that belongs to it."""
    if picked.threshold is None or picked.chosen is None:
        place = int(curve.risk.argmin())
        return (
            f"No threshold keeps the risk at {picked.most:.1%} or below on {picked.chosen_on}: the least of all "
            f"questions is {curve.risk[place]:.1%}, with {curve.coverage[place]:.0%} answered."
        )
    words = (
        f"Risk of at most {picked.most:.1%}: answer when the score is at least {picked.threshold:.4g}. "
        f"On {picked.chosen_on}: {point_words(picked.chosen)}."
    )
    if picked.tested is not None:
        return f"{words} On {picked.tested_on}, which had no part in choosing it: {point_words(picked.tested)}."
    return f"{words} It was chosen on these same questions: expect a greater risk on others."


def point_words(at: risk_coverage.Point) -> str:
    """Return coverage and risk with its interval in words."""
    answered = f"{at.answered:,} of {at.n:,} answered ({at.coverage:.0%})"
    if at.risk.mean is None:
        return answered
    return f"{answered}, {at.wrong:,} wrong: risk {at.risk.mean:.1%} [{at.risk.low:.1%}, {at.risk.high:.1%}]"


def losses_words(compared: Losses) -> str:
    """Say how many questions the embedder loses at k, and how many the index."""
    counts = {name: int(mask.sum()) for name, mask in compared.found.items()}
    agreement = compared.agreement
    return (
        f"At k = {compared.k}, of {sum(counts.values()):,} questions: {counts['both']:,} found by both searches, "
        f"{counts['neither']:,} missed by both (the embedder), {counts['exact']:,} missed by the approximate search "
        f"only (the index), {counts['approximate']:,} found by it only (chance). Recall@{compared.k} of the "
        f"approximate search against the exact one: {agreement.mean:.3f} [{agreement.low:.3f}, {agreement.high:.3f}]."
    )


def size_words(size: growth.Size) -> str:
    """Say how the recall of a size is known."""
    if size.extrapolated:
        return "extrapolated"
    mean = size.recall.mean
    return f"up to {size.most:.3f}" if mean is not None and size.most - mean > 5e-4 else ""


STAY = (
    "The documents with a question's evidence stay; which chunks of others do is drawn at random. Larger corpora are "
    "extrapolated."
)
MODEL = (
    "The extrapolation: chunks of other documents that rank above the evidence grow in number in proportion to the "
    "corpus; over the questions that number is Poisson with a Gamma-distributed mean, fitted to this run."
)


def check_words(grown: Growth) -> list[str]:
    """Say how well the predictions did when documents were hidden, and what is not known."""
    told = [
        f"from {check.kept:.0%} of the documents, recall@{grown.k} with all is predicted as {check.predicted:.2f} and "
        f"is {check.really:.2f} (off by {check.error:.3f} on average); without the others it is computed as "
        f"{check.shrunk:.2f} and is {check.shrunk_really:.2f}"
        for check in grown.checks
    ]
    hidings = max((check.hidings for check in grown.checks), default=0)
    words = [f"Checked by hiding documents at random, {hidings} times: {'; '.join(told)}."] if told else []
    if not words:
        words = ["There are too few documents to check this by hiding some."]
    if grown.deeper:
        passages = f"{grown.deeper:,} passage{' is' if grown.deeper == 1 else 's are'}"
        words.append(f"{passages} deeper than the rankings: smaller corpora have the recall shown at least.")
    return words


def growth_words(current: Run) -> str:
    """Say how far ranks in another corpus follow from those in this one."""
    config, cut = current.config, current.provenance["index_config"]
    if config.reranker != "none":
        return f"Approximate: {config.reranker} would read other chunks in another corpus."
    if config.retriever == "hybrid":
        return "Approximate: the ranks that are fused move with the corpus too."
    if config.retriever == "bm25":
        return "Nearly exact: how rare a word is changes with the corpus, and with it the scores of BM25."
    if cut and searched_again.is_approximate(searched_again.config_of(cut)):
        return "Exact but for the approximate search of the index, which misses more in larger corpora."
    return "Exact: the order of two chunks does not depend on the others."
