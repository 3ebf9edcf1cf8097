"""Decoding: the best well-formed tag sequence."""

from dataclasses import dataclass

import numpy as np

from tagger.spans import spans_of


@dataclass(frozen=True)
class Decoding:
    """Names of the tags, one per token, the entity spans that they mark, and the score of the sequence."""

    tags: list
    spans: list
    score: float


def decode(emissions, parameters, scheme):
    """Find the highest-scoring tag sequence that the scheme allows.

    Args:
        emissions: array (tokens, tags), the encoder's score of each tag at each token; tokens may be 0.
        parameters: `FieldParameters` for the same tags.
        scheme: `TagScheme`; sequences that it does not allow are never returned, whatever their score.

    Returns:
        `Decoding` with tag names, spans from `spans_of`, and the score as a Python float (0.0 for an empty sentence).
    """
    count = len(scheme)
    if len(emissions) == 0:
        return Decoding([], [], 0.0)
    allowed = np.array([[scheme.may_follow(i, j) for j in range(count)] for i in range(count)])
    transitions = np.where(allowed, parameters.transitions, -np.inf)
    start = np.where([scheme.may_start(tag) for tag in range(count)], parameters.start, -np.inf)
    end = np.where([scheme.may_end(tag) for tag in range(count)], parameters.end, -np.inf)

    best = start + emissions[0]
    pointers = []
    for scores in emissions[1:]:
        reached = best[:, None] + transitions
        pointers.append(reached.argmax(axis=0))
        best = reached.max(axis=0) + scores
    final = best + end
    path = [int(final.argmax())]
    for pointer in reversed(pointers):
        path.append(int(pointer[path[-1]]))
    tags = [scheme.tags[tag] for tag in reversed(path)]
    return Decoding(tags, spans_of(tags), float(final.max()))
