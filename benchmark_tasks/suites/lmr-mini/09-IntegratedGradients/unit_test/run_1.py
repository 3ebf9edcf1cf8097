"""Builds the classifier of a case and calls `integrated_gradients`."""

from attribution.integrated import integrated_gradients
from attribution.network import SentenceClassifier


def run(case):
    """Return attributions, token scores, completeness gap, and the inputs as they are afterwards."""
    network = SentenceClassifier(case["gate"], case["hidden"], case["bias"], case["output"])
    explanation = integrated_gradients(
        network,
        case["embeddings"],
        case["baselines"],
        case["target"],
        **case["options"],
    )
    return {
        "values": explanation.values,
        "token_scores": explanation.token_scores,
        "gap": explanation.gap,
        "embeddings": case["embeddings"],
        "baselines": case["baselines"],
    }
