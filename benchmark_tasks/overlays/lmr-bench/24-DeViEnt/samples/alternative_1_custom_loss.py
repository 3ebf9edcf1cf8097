# Right: the file's CustomLoss and the model's ce_loss_fn; without premises only the classification counts.


def compute_loss_and_scores(self, batch, weight=None):
    """Weighted sum of the cross entropy on the update and the pairwise contrastive loss."""
    pictures, premise_inputs, update_inputs, update_types = batch
    if weight is None:
        weight = self.classification_weight
    has_premise = premise_inputs is not None and premise_inputs["input_ids"].numel() > 0
    premise_logits, premise_score = None, None
    if has_premise:
        premise_logits, premise_score = self.forward(
            pictures, premise_inputs["input_ids"], premise_inputs["attention_mask"]
        )
    update_logits, update_score = self.forward(pictures, update_inputs["input_ids"], update_inputs["attention_mask"])

    contrastive = CustomLoss()(premise_score, update_score, update_types) if has_premise else None
    classification = None
    if self.use_classification_head:
        classes = torch.div(update_types + 1, 2, rounding_mode="floor").long()
        classification = self.ce_loss_fn(update_logits, classes)

    if classification is not None and contrastive is not None:
        loss = weight * classification + (1 - weight) * contrastive
    elif contrastive is not None:
        loss = contrastive
    elif classification is not None:
        loss = classification
    else:
        loss = update_score.sum() * 0
    return loss, premise_logits, update_logits, premise_score, update_score
