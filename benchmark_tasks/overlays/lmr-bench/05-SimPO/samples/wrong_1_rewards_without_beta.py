# Wrong: the rewards are the average log probabilities without the factor beta.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    gap = policy_chosen_logps - policy_rejected_logps - self.gamma_beta_ratio
    losses = F.softplus(-self.beta * gap)
    return losses, policy_chosen_logps.detach(), policy_rejected_logps.detach()
