"""How far any two raters agree: which pairs there are, their statistics, and the answers behind each number."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Final

from evaluator.judging.labels import Label
from leaderboard.agreement.types import LABELS, Pair, PairAgreement
from leaderboard.domain.agreement_cache import Question, answered, digest
from leaderboard.domain.agreement_raters import (
    REST,
    Item,
    Rater,
    Ratings,
    Scope,
    raters,
    shown_systems,
    suite_categories,
)
from submissions.enums import Inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmark_tasks.models import Suite

BINARY_LABELS: Final = (REST, Label.CC.value)


class UnknownChoiceError(Exception):
    """A category, system, rater, … was named that there is not. The message lists those that there are."""


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Two raters and the answers that both labelled, in ``labels``.

    ``abstained`` counts the answers that one labelled and the other abstained on. They are in no number.
    """

    first: Rater
    second: Rater
    pairs: tuple[Pair, ...]
    labels: tuple[str, ...]
    abstained: int = 0

    def matrix(self) -> list[list[int]]:
        """Counts: a row for each label of the first rater, a column for each of the second."""
        counts = Counter((pair.first, pair.second) for pair in self.pairs)
        return [[counts[row, column] for column in self.labels] for row in self.labels]

    def keys(self, cell: tuple[str, str]) -> list[str]:
        """The items in one cell of the matrix."""
        return [pair.item for pair in self.pairs if (pair.first, pair.second) == cell]


def read_scope(*, suite: Suite, category: str = "", system: str = "", inputs: str = "", samples: bool = False) -> Scope:
    """Filters as people name them. Raises :class:`UnknownChoiceError`. Two queries at most."""
    if category:
        _check("category", category, [each.slug for each in suite_categories(suite)])
    if system:
        _check("system", system, [each.slug for each in shown_systems(suite)])
    if inputs:
        _check("kind of inputs", inputs, Inputs.values)
    return Scope(category=category, system=system, inputs=inputs, samples=samples)


def check_raters(*slugs: str) -> None:
    """Raises :class:`UnknownChoiceError` for a rater that there is not, or the same one twice. One query."""
    given = [slug for slug in slugs if slug]
    known = [rater.slug for rater in raters()] if given else []
    for slug in given:
        _check("rater", slug, known)
    if len(set(given)) < len(given):
        msg = f"The rater {given[0]!r} is named twice. Name two different ones."
        raise UnknownChoiceError(msg)


def _check(kind: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        msg = f"There is no {kind} {given[:60]!r} here. Known: {', '.join(known) or 'none'}."
        raise UnknownChoiceError(msg)


def rater_pairs(ratings: Ratings, *, binary: bool = False, first: str = "", second: str = "") -> list[RaterPair]:
    """Every two raters that labelled an answer in common, or only those with the named ones.

    ``binary`` asks for CC against the rest; raters that tell nothing else apart take part only there. Rows are the
    rater that comes first in ``ratings.raters``, or the one that is named first.
    """
    able = [rater for rater in ratings.raters if binary or not rater.binary_only]
    wanted = {slug for slug in (first, second) if slug}
    found = []
    for one, other in combinations(able, 2):
        if wanted <= {one.slug, other.slug}:
            swapped = other.slug == first or one.slug == second
            pair = _rater_pair(ratings, *((other, one) if swapped else (one, other)), binary=binary)
            if pair.pairs:
                found.append(pair)
    return found


def _rater_pair(ratings: Ratings, first: Rater, second: Rater, *, binary: bool) -> RaterPair:
    says, other = ratings.labels.get(first.slug, {}), ratings.labels.get(second.slug, {})
    shared = [key for key in says if key in other]
    both = [
        Pair(item=key, cluster=ratings.items[key].paper, first=says[key], second=other[key])
        for key in shared
        if says[key] and other[key]
    ]
    if binary:
        # Loads numpy, which no page needs that shows something else.
        from leaderboard.agreement.pairs import binary as told_apart

        both = told_apart(both)
    return RaterPair(
        first=first,
        second=second,
        pairs=tuple(both),
        labels=BINARY_LABELS if binary else LABELS,
        abstained=sum(bool(says[key]) != bool(other[key]) for key in shared),
    )


def question(pair: RaterPair, *, about: str = "") -> Question:
    """The question for a pair's statistics; ``about`` names the answers that were asked for."""
    whole = (pair.labels, *((each.item, each.cluster, each.first, each.second) for each in pair.pairs))
    return Question(
        name=f"{about} {pair.first.slug} {pair.second.slug} {len(pair.labels)}",
        data=digest(whole),
        compute=partial(_computed, pair),
    )


def compared(pairs: Sequence[RaterPair]) -> list[PairAgreement]:
    """The statistics of each pair, from the cache where their very labels were compared before."""
    return [found.value for found in answered([question(pair) for pair in pairs]) if found is not None]


def _computed(pair: RaterPair) -> PairAgreement:
    # Loads scientific libraries, which take long: not before something has to be computed.
    from leaderboard.agreement.pairs import compare

    return compare(pair.pairs, labels=pair.labels)


def items_of_cell(ratings: Ratings, pair: RaterPair, cell: tuple[str, str]) -> list[tuple[Item, str, str]]:
    """The answers in a cell of the matrix with what each rater said, by task, system and trial."""
    says, other = ratings.labels[pair.first.slug], ratings.labels[pair.second.slug]
    found: Iterable[tuple[Item, str, str]] = ((ratings.items[key], says[key], other[key]) for key in pair.keys(cell))
    return sorted(found, key=lambda row: (row[0].task, row[0].system.casefold(), row[0].inputs, row[0].trial))
