"""Calls `compute_mean_cosine_similarity`, with embeddings that the case gives in place of a model's."""

import sys
from types import SimpleNamespace
from unittest.mock import MagicMock, patch

import numpy as np

library = MagicMock()
sys.modules.update(dict.fromkeys(("openai", "sentence_transformers"), library))

from Tabular import compute_mean_cosine_similarity  # noqa: E402 - after the stand-in


class Embeddings:
    """One embedding for each level, whichever source is asked: a sentence encoder, a client, or NumPy.

    The repository draws stand-ins for embeddings with `np.random.rand`: first of the original level, then of the
    decrypted one, pair by pair. In that order the draws get the levels' vectors, repeated to the size asked for. The
    repository says 100 and the paper 200: any multiple of a vector's length gives the same similarity.
    """

    def __init__(self, levels, vectors):
        self._by_text = {text.strip(): vector for text, vector in zip(levels, vectors, strict=True)}
        self._draws = iter(vectors)

    def encode(self, sentences, **_):
        if isinstance(sentences, str):
            return self._by_text[sentences.strip()]
        return np.stack([self.encode(sentence) for sentence in sentences])

    def create(self, *, input, **_):  # noqa: A002 - the client's name for it
        texts = [input] if isinstance(input, str) else input
        return SimpleNamespace(data=[SimpleNamespace(embedding=self.encode(text).tolist()) for text in texts])

    def rand(self, *shape):
        rows = [np.resize(next(self._draws), shape[-1]) for _ in range(int(np.prod(shape[:-1])))]
        return np.reshape(rows, shape)


def run(case):
    """Return the mean similarity as a number: the repository's own form of it is an array with one element."""
    embeddings = Embeddings(case["levels"], case["vectors"])
    named = [f"Feature: {case['features'][place // 2]}, Value: {text}" for place, text in enumerate(case["levels"])]
    library.SentenceTransformer.return_value = embeddings
    library.OpenAI.return_value.embeddings = embeddings
    with patch.object(np.random, "rand", embeddings.rand):
        similarity = compute_mean_cosine_similarity(dict(zip(named[::2], named[1::2], strict=True)))
    return {"similarity": float(np.asarray(similarity).item())}
