# Wrong: compares probabilities, because the log probabilities are exponentiated first.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    gap = policy_chosen_logps.exp() - policy_rejected_logps.exp() - self.gamma_beta_ratio
    losses = F.softplus(-self.beta * gap)
    return losses, self.beta * policy_chosen_logps.detach(), self.beta * policy_rejected_logps.detach()
