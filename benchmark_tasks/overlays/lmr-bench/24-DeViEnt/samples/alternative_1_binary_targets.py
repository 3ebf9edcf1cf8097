# Right: one 0/1 target serves both the cross entropy and a binary cross entropy on score differences.
from dataclasses import dataclass
from typing import Any

classification_weight = 0.9


@dataclass
class _Scored:
    logits: Any = None
    score: Any = None


def compute_loss_and_scores(self, batch, weight=classification_weight):
    """Mix the cross entropy on the update with the pairwise term, if there is a premise to compare."""
    images, premise_tokens, update_tokens, update_types = batch
    update = _Scored(*self(images, update_tokens["input_ids"], update_tokens["attention_mask"]))
    premise = _Scored()
    if premise_tokens is not None and all(premise_tokens[key].numel() for key in ("input_ids", "attention_mask")):
        premise = _Scored(*self(images, premise_tokens["input_ids"], premise_tokens["attention_mask"]))

    target = update_types.view(-1).clamp(min=0)
    parts = {}
    if self.use_classification_head:
        parts["classification"] = self.ce_loss_fn(update.logits, target.long())
    if premise.score is not None:
        difference = (update.score - premise.score).view(-1)
        parts["contrastive"] = F.binary_cross_entropy_with_logits(difference, target.to(difference.dtype))
    if len(parts) == 2:
        share = self.classification_weight if weight is None else weight
        parts = {"classification": share * parts["classification"], "contrastive": (1 - share) * parts["contrastive"]}
    loss = torch.stack(list(parts.values())).sum() if parts else update.score.new_zeros(())
    return loss, premise.logits, update.logits, premise.score, update.score
