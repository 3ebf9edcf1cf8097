# Wrong: the average divides by the sum of the class weights instead of the number of pairs.


def forward(self, preds, labels):
    logits, gold = preds.reshape(-1, preds.shape[-1]), labels.reshape(-1)
    log_probs = F.log_softmax(logits, dim=-1)
    focal = (1 - log_probs.exp()) ** self.gamma * log_probs
    reduction = "mean" if self.size_average else "sum"
    return F.nll_loss(focal, gold, weight=self.alpha.to(logits), reduction=reduction)
