"""Inputs for `vote`: texts of sampled chains and their token log-probabilities."""

import numpy as np

LEADS = ("The answer is", "So the answer is", "the answer is:", "Therefore, THE ANSWER IS")
STEPS = ("First add both.", "Then halve it.", "There are 12 of them.", "Each costs $3.", "We check once more.")


def _spelling(rng, value):
    """One of several ways to write the same number."""
    text = f"{value:,}" if rng.random() < 0.5 else str(value)
    return str(rng.choice([text, f"${text}", f"{text}.", f"{text}.00", f" {text}.0 ", f"{text}%"]))


def _chain(rng, answer, *, tokens=None, lead=None):
    steps = " ".join(str(step) for step in rng.choice(STEPS, size=int(rng.integers(1, 4))))
    lead = str(rng.choice(LEADS)) if lead is None else lead
    count = int(rng.integers(2, 12)) if tokens is None else tokens
    return {
        "text": f"{steps}\n{lead} {answer}\n" if answer is not None else steps,
        "token_log_probs": [float(value) for value in -rng.exponential(0.4, size=count)],
    }


def _random_chains(rng, count, answers):
    chains = [_chain(rng, _spelling(rng, int(rng.choice(answers)))) for _ in range(count)]
    chains.insert(int(rng.integers(0, count)), _chain(rng, None))
    return chains


def cases(seed):
    """All weightings on many spellings, answers given twice, words, ties, chains that cannot vote, and none that can."""
    rng = np.random.default_rng([606, seed])
    answers = [int(value) for value in rng.integers(1000, 99999, size=4)] + [-int(rng.integers(2, 99))]
    many = {"weighting": "uniform", "chains": _random_chains(rng, 15, answers)}
    probable = {"weighting": "probability", "chains": _random_chains(rng, 10, answers)}
    normalised = {"weighting": "normalised", "chains": _random_chains(rng, 12, answers[1:])}
    corrected = {"weighting": "normalised", "chains": _random_chains(rng, 6, answers[:2])}
    for value in answers[2:4]:
        chain = _chain(rng, _spelling(rng, value))
        chain["text"] = f"At first the answer is {answers[0]}. No, that forgot one.\n{chain['text']}"
        corrected["chains"].append(chain)
    words = ["Paris", "paris.", " PARIS ", "Lyon", "lyon", "Nice", "Lyon", "  Paris"]
    rng.shuffle(words)
    spelt = {"weighting": "uniform", "chains": [_chain(rng, word, lead="The answer is") for word in words[:7]]}
    pair = [f"{answers[0]}", f"{answers[1]}.50"]
    tied = {"weighting": "uniform", "chains": [_chain(rng, pair[index]) for index in rng.permutation([0, 0, 0, 1, 1, 1])]}
    tied["chains"].insert(0, _chain(rng, answers[2]))
    mute = {"weighting": "normalised", "chains": _random_chains(rng, 4, answers)}
    mute["chains"] += [_chain(rng, answers[0], tokens=0), _chain(rng, "."), _chain(rng, ""), _chain(rng, "$")]
    silent = {"weighting": "probability", "chains": [_chain(rng, None), _chain(rng, "%."), _chain(rng, "7", tokens=0)]}
    nobody = {"weighting": "uniform", "chains": []}
    return [many, probable, normalised, corrected, spelt, tied, mute, silent, nobody]
