"""Calls `pair_loss`."""

from losses import pair_loss


def run(case):
    """Return losses and mean margin, and the list that they may have been added to."""
    losses, margin = pair_loss(case["chosen"], case["rejected"], **case["options"])
    return {"losses": losses, "margin": float(margin), "seen": case["options"].get("seen")}
