"""Calls `preference_objective` on log-probabilities that the repository's own helpers computed."""

from preferences.config import ObjectiveConfig
from preferences.objective import preference_objective
from preferences.tokens import PairLogProbs, answer_log_probs


def run(case):
    """Return the four fields of the result."""
    pairs = {
        model: PairLogProbs(
            *(answer_log_probs(case[f"{model}_{side}_logits"], case[f"{side}_labels"]) for side in ("chosen", "rejected"))
        )
        for model in ("policy", "reference")
    }
    config = ObjectiveConfig(case["beta"], case["label_smoothing"], case["reference_free"])
    terms = preference_objective(pairs["policy"], pairs["reference"], config)
    return {
        "losses": terms.losses,
        "chosen_rewards": terms.chosen_rewards,
        "rejected_rewards": terms.rejected_rewards,
        "accuracy": terms.accuracy,
    }
