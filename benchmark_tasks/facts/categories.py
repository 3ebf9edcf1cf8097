"""The benchmark's nine categories, and the spellings of them that upstream's info.json files use. No Django here.

Source: the LMR-BENCH paper, Table 4 (names; the definitions here are our own words).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


class UnknownCategoryError(ValueError):
    """Raised for a category that is neither empty nor a known spelling of one of the nine."""

    def __init__(self, spelling: str) -> None:
        titles = "; ".join(category.title for category in CATEGORIES)
        super().__init__(f"Unknown category {spelling!r}. Leave it empty or use one of: {titles}.")
        self.spelling = spelling


@dataclass(frozen=True, slots=True)
class CategoryFacts:
    """One of the nine: ``slug`` for addresses, ``title`` as the paper's Table 4 prints it, a one-line definition.

    ``short`` is one word of the title, for the heads of narrow columns.
    """

    slug: str
    title: str
    short: str
    definition: str


CATEGORIES: Final[tuple[CategoryFacts, ...]] = (
    CategoryFacts(
        "feature-learning-representation",
        "Feature Learning & Representation",
        "Representation",
        "How texts become vectors, and how such vectors are read and improved.",
    ),
    CategoryFacts(
        "neural-network-architectures",
        "Neural Network Architectures",
        "Architectures",
        "The parts that a network is built of: attention, positions, adapters, layers.",
    ),
    CategoryFacts(
        "prompt-engineering-instruction-tuning",
        "Prompt Engineering & Instruction Tuning",
        "Prompting",
        "Steering what a model does through its prompt or by tuning it on instructions.",
    ),
    CategoryFacts(
        "information-extraction",
        "Information Extraction",
        "Extraction",
        "Getting entities, relations and other structure out of running text.",
    ),
    CategoryFacts(
        "data-augmentation",
        "Data Augmentation",
        "Augmentation",
        "Making additional or altered training examples by a chosen rule.",
    ),
    CategoryFacts(
        "training-objectives-optimization",
        "Training Objectives & Optimization",
        "Training",
        "What training minimises, and the algorithm that minimises it.",
    ),
    CategoryFacts(
        "decoding-search-strategies",
        "Decoding & Search Strategies",
        "Decoding",
        "Choosing the next tokens or actions at inference time.",
    ),
    CategoryFacts(
        "evaluation-metrics",
        "Evaluation Metrics",
        "Evaluation",
        "Putting a number on how good generated text or a model's behaviour is.",
    ),
    CategoryFacts(
        "interpretability-explainability",
        "Interpretability & Explainability",
        "Interpretability",
        "Looking inside a model to see what it represents and why it answers as it does.",
    ),
)

# Spellings in upstream's info.json files that differ from the title in Table 4.
_UPSTREAM_SPELLINGS: Final[dict[str, str]] = {
    "Training Objectives & Optimization Techniques": "training-objectives-optimization",
    "loss function": "training-objectives-optimization",
    "Evaluation Metrics & Benchmarking": "evaluation-metrics",
    "Data Augmentation & Generation": "data-augmentation",
    "Information Extraction & Knowledge Integration": "information-extraction",
    "Neural Network Architectures & Modules": "neural-network-architectures",
}


def _key(spelling: str) -> str:
    return " ".join(spelling.split()).casefold()


_SLUG_BY_SPELLING: Final[dict[str, str]] = (
    {_key(category.slug): category.slug for category in CATEGORIES}
    | {_key(category.title): category.slug for category in CATEGORIES}
    | {_key(spelling): slug for spelling, slug in _UPSTREAM_SPELLINGS.items()}
)


def normalise(spelling: str | None) -> str | None:
    """Return the slug of the category that ``spelling`` names; None for none (empty, or no such key in the file).

    Accepts slugs, the titles of Table 4 and upstream's spellings, in any case and spacing.
    Raises UnknownCategoryError for anything else.
    """
    key = _key(spelling or "")
    if not key:
        return None
    if key not in _SLUG_BY_SPELLING:
        raise UnknownCategoryError(spelling or "")
    return _SLUG_BY_SPELLING[key]
