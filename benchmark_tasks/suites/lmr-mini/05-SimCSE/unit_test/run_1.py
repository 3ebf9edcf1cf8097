"""Builds the batch of a case and calls `supervised_contrast`."""

from simcse.batch import SentenceStates, TripletBatch
from simcse.objective import supervised_contrast


def run(case):
    """Return losses, accuracy and alignment."""
    sides = [
        SentenceStates(case[f"{name}_layers"], case[f"{name}_mask"]) for name in ("anchors", "positives", "negatives")
    ]
    batch = TripletBatch(*sides, case["has_negative"])
    terms = supervised_contrast(batch, temperature=case["temperature"], **case["options"])
    return {"losses": terms.losses, "accuracy": terms.accuracy, "alignment": terms.alignment}
