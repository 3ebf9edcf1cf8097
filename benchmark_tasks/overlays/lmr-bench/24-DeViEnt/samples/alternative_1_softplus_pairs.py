# Right: softplus of the signed score difference, cross entropy on boolean targets, mixed by lerp.
classification_weight = 0.9


def _run(model, images, inputs):
    if inputs is None or inputs["input_ids"].nelement() == 0:
        return None, None
    return model(images, input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])


def compute_loss_and_scores(self, batch, weight=classification_weight):
    """Score both text pairs and mix the two losses with the given weight."""
    images, hypo_premise, hypo_update, kinds = batch
    share = self.classification_weight if weight is None else weight
    logits_p, score_p = _run(self, images, hypo_premise)
    logits_u, score_u = _run(self, images, hypo_update)
    baseline = torch.zeros_like(score_u) if score_p is None else score_p
    agreement = (score_u - baseline).flatten() * kinds.flatten().to(score_u.dtype)
    ranking = F.softplus(-agreement).mean()
    if not self.use_classification_head:
        return ranking, logits_p, logits_u, score_p, score_u
    labelling = F.cross_entropy(logits_u, (kinds.flatten() > 0).long())
    mixed = labelling if score_p is None else torch.lerp(ranking, labelling, float(share))
    return mixed, logits_p, logits_u, score_p, score_u
