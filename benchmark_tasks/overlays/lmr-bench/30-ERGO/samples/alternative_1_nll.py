# Right: nll_loss with the class weights on focal log probabilities, then the plain mean or the sum.


def forward(self, preds, labels):
    """Use nll_loss to select the gold class; weights do not enter the denominator."""
    flat = preds.reshape(-1, preds.shape[-1])
    probs = F.softmax(flat, dim=-1)
    modulated = (1 - probs) ** self.gamma * F.log_softmax(flat, dim=-1)
    losses = F.nll_loss(modulated, labels.reshape(-1).long(), weight=self.alpha.to(flat), reduction="none")
    return losses.mean() if self.size_average else losses.sum()
