# Right: torch.distributions.Categorical gives the log-probability, and expm1 gives one minus the probability.
from torch.distributions import Categorical


def forward(self, preds, labels):
    flat_labels = labels.flatten().long()
    log_pt = Categorical(logits=preds.flatten(end_dim=-2), validate_args=False).log_prob(flat_labels)
    difficulty = -torch.expm1(log_pt)
    alpha_t = self.alpha.to(preds.device).take(flat_labels).to(log_pt.dtype)
    terms = torch.neg(alpha_t * difficulty**self.gamma * log_pt)
    loss = terms.sum()
    if self.size_average:
        loss = loss / len(terms)
    return loss
