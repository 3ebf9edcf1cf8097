# Right: stacks real and generated values; logsumexp is the logistic loss, relu the hinge loss.


def spin_loss(
    self,
    policy_real_logps: torch.FloatTensor,
    policy_generated_logps: torch.FloatTensor,
    opponent_real_logps: torch.FloatTensor,
    opponent_generated_logps: torch.FloatTensor,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """Vectorised over the pair dimension: row 0 is real, row 1 generated."""
    policy = torch.stack((policy_real_logps, policy_generated_logps))
    opponent = torch.stack((opponent_real_logps, opponent_generated_logps))
    with torch.no_grad():
        rewards = (policy - opponent) * self.beta
    scores = self.beta * (policy if reference_free else policy - opponent)
    if self.loss_type == "hinge":
        losses = torch.relu(1.0 - scores[0] + scores[1])
    elif self.loss_type == "sigmoid":
        losses = torch.logsumexp(scores, dim=0) - scores[0]
    else:
        raise ValueError("Unknown loss type: " + str(self.loss_type))
    return losses, rewards[0], rewards[1]
