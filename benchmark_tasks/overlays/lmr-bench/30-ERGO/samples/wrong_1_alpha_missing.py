# Wrong: the plain focal loss of Equation 7, without the class weights alpha.


def forward(self, preds, labels):
    logits, gold = preds.reshape(-1, preds.shape[-1]), labels.reshape(-1)
    log_p = F.log_softmax(logits, dim=-1)[torch.arange(len(gold), device=gold.device), gold]
    losses = -((1 - log_p.exp()) ** self.gamma) * log_p
    return losses.mean() if self.size_average else losses.sum()
