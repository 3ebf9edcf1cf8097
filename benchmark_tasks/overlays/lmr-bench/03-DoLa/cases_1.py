"""Inputs for `dola_greedy_decode_agent`: logits of every layer at every position, and the options of decoding."""

import numpy as np

MATURE = 8
END = 3
OTHER_END = 5


def _log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def _divergence(p, q):
    # From log-probabilities (..., batch, vocabulary); the mean over the batch.
    return (np.exp(p) * (p - q)).sum(axis=-1).mean(axis=-1)


def _is_clear(mature, early):
    # The reference implementation swaps the arguments of both divergences from the mean distribution: a case must have
    # the same best layer, and no close second, with the Jensen-Shannon divergence of the paper.
    p, q = _log_softmax(mature)[None], _log_softmax(early)
    mean = np.log(np.exp(p) + np.exp(q)) - np.log(2)
    paper = _divergence(p, mean) + _divergence(q, mean)
    swapped = _divergence(mean, p) + _divergence(mean, q)
    best = paper.argmax()
    return all((values < 0.9 * values[best]).sum() == len(early) - 1 for values in (paper, swapped))


def _logits(rng, *, batch, length, vocabulary, candidates):
    """Logits of the mature layer (last) and of the candidates, shape (layers, batch, length, vocabulary)."""
    table = np.zeros((candidates + 1, batch, length, vocabulary))
    for position in range(length):
        clear = False
        while not clear:
            mature = 1.5 * rng.standard_normal((batch, vocabulary))
            early = 0.5 * mature + 0.5 * rng.standard_normal((candidates, batch, vocabulary))
            early += rng.uniform(0.5, 1.5, size=(candidates, 1, 1)) * rng.standard_normal((batch, vocabulary))
            clear = _is_clear(mature, early)
        table[:, :, position] = [*early, mature]
    return table


def _case(rng, *, layers, prompt=3, batch=1, vocabulary=10, length=12, padded=0, **case):
    """A prompt, the table of logits, and how decoding is called: options, defaults of the model, processors, stops."""
    mask = np.ones((batch, prompt), dtype=np.int64)
    mask[0, :padded] = 0
    return {
        "layers": [*layers, MATURE],
        "logits": _logits(rng, batch=batch, length=length, vocabulary=vocabulary, candidates=len(layers)),
        "prompt": rng.integers(6, vocabulary, size=(batch, prompt)),
        "mask": mask if padded else None,
        "encoder_decoder": False,
        "options": {},
        "defaults": {},
        "longest": length,
        "stops": True,
        "stop_words": [],
        "penalty": None,
        "streams": False,
        **case,
    }


def cases(seed):
    """Dynamic and static contrast, the filter on and off, padding, ends, stops, streaming, an encoder-decoder."""
    rng = np.random.default_rng([301, seed])
    everything = {"return_dict_in_generate": True, "output_scores": True}
    inner = {"output_attentions": True, "output_hidden_states": True}
    dynamic = {"candidate_premature_layers": [0, 2, 4, 6]}
    return [
        _case(rng, layers=[0, 2, 4, 6], options={**dynamic, **everything, "output_hidden_states": True}),
        _case(
            rng, layers=[4, 0, 6], options={"candidate_premature_layers": [4, 0, 6], "relative_top": 0.0, **everything}
        ),
        _case(
            rng,
            layers=[0, 2, 4, 6],
            batch=3,
            padded=1,
            options={**dynamic, "relative_top": float(rng.uniform(0.2, 0.5)), "pad_token_id": 1, "eos_token_id": END},
            defaults={**everything, **inner, "pad_token_id": 2, "eos_token_id": 4},
        ),
        _case(
            rng,
            layers=[0, 2, 4, 6],
            vocabulary=7,
            length=20,
            options={**dynamic, **everything, "output_scores": False},
            defaults={**inner, "output_scores": True, "pad_token_id": 0, "eos_token_id": [END, OTHER_END]},
            streams=True,
        ),
        _case(rng, layers=[2, 6], prompt=1, penalty=1.4, options={"candidate_premature_layers": [2, 6], **everything}),
        _case(
            rng,
            layers=[0],
            options={"candidate_premature_layers": [0], "return_dict_in_generate": False},
            defaults=inner,
        ),
        _case(
            rng,
            layers=[4],
            batch=2,
            options={"base_layer": 4, **everything, **inner, "output_hidden_states": False},
            defaults={"return_dict_in_generate": False},
        ),
        _case(
            rng,
            layers=[2],
            options={"base_layer": 2, "relative_top": 0.0, **everything, "output_attentions": False},
            defaults=inner,
        ),
        _case(
            rng,
            layers=[0, 2, 4, 6],
            options={**dynamic, "base_layer": 4, "max_length": 8, **everything},
            penalty=1.2,
        ),
        _case(
            rng,
            layers=[0, 2, 4],
            vocabulary=7,
            length=20,
            stop_words=[[int(token)] for token in rng.permutation(7)[:2]],
            options={"candidate_premature_layers": [0, 2, 4], "pad_token_id": 6, "relative_top": 0.3, **everything},
            defaults={"pad_token_id": 5},
        ),
        _case(
            rng,
            layers=[0, 2, 4, 6],
            prompt=2,
            options={**dynamic, "max_length": 7, "relative_top": 0.0},
            stops=False,
            streams=True,
        ),
        _case(rng, layers=[2, 4, 6], padded=1, options={"candidate_premature_layers": [2, 4, 6]}, encoder_decoder=True),
    ]
