# Right: keeps the stub's default as it stands; log-sigmoid by hand and log-softmax with a gather.


def compute_loss_and_scores(self, batch, weight=classification_weight):
    """Collect the weighted terms that exist and add them up."""
    images, premise, update, labels = batch
    mix = self.classification_weight if weight is None else weight
    labels = labels.reshape(-1)
    logits_hypo_update, score_hypo_update = self.forward(images, update["input_ids"], update["attention_mask"])
    logits_hypo_premise = score_hypo_premise = None
    if premise is not None and premise["input_ids"].shape[-1] > 0 and premise["input_ids"].shape[0] > 0:
        logits_hypo_premise, score_hypo_premise = self.forward(images, premise["input_ids"], premise["attention_mask"])

    terms = []
    if self.use_classification_head:
        strengthens = torch.eq(labels, 1).to(torch.int64).unsqueeze(1)
        gold_log_prob = torch.gather(logits_hypo_update.log_softmax(dim=1), 1, strengthens)
        terms.append((mix, gold_log_prob.mean().neg()))
    if score_hypo_premise is not None:
        gain = score_hypo_update.squeeze(1) - score_hypo_premise.squeeze(1)
        contrast = torch.logaddexp(torch.zeros_like(gain), -labels * gain).mean()
        terms.append((1 - mix if self.use_classification_head else 1, contrast))
    loss = sum((factor * term for factor, term in terms), torch.zeros((), device=score_hypo_update.device))
    return loss, logits_hypo_premise, logits_hypo_update, score_hypo_premise, score_hypo_update
