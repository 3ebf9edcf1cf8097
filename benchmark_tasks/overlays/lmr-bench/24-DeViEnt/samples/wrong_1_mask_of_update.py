# Wrong: the premise is encoded with the attention mask of the update.
classification_weight = 0.9


def compute_loss_and_scores(self, batch, weight=classification_weight):
    images, premise, update, kinds = batch
    logits_p, score_p = None, None
    if premise is not None and premise["input_ids"].numel() > 0:
        logits_p, score_p = self.forward(images, premise["input_ids"], update["attention_mask"])
    logits_u, score_u = self.forward(images, update["input_ids"], update["attention_mask"])
    kinds = kinds.view(-1)
    weight = self.classification_weight if weight is None else weight
    pairwise = score_u.new_zeros(())
    if score_p is not None:
        pairwise = -F.logsigmoid((score_u - score_p).view(-1) * kinds).mean()
    if not self.use_classification_head:
        return pairwise, logits_p, logits_u, score_p, score_u
    targets = (kinds > 0).long()
    classification = F.cross_entropy(logits_u, targets)
    loss = weight * classification + (1 - weight) * pairwise
    return loss, logits_p, logits_u, score_p, score_u
