# Right: one-hot labels choose probability and alpha, and an einsum contracts classes per row.
def forward(self, preds, labels):
    n_classes = preds.size(-1)
    scores = preds.reshape(-1, n_classes)
    chosen = F.one_hot(labels.reshape(-1).to(torch.int64), n_classes).to(scores.dtype)
    log_z = torch.logsumexp(scores, dim=-1, keepdim=True)
    log_prob = scores - log_z
    modulator = torch.pow(1 - torch.exp(log_prob), self.gamma)
    balance = self.alpha.to(device=scores.device, dtype=scores.dtype)
    per_pair = -torch.einsum("nk,nk,nk,k->n", chosen, modulator, log_prob, balance)
    return {True: torch.mean, False: torch.sum}[bool(self.size_average)](per_pair)
