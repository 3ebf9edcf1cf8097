# Wrong: the target margin is added to the reward difference instead of subtracted from it.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    gap = policy_chosen_logps - policy_rejected_logps + self.gamma_beta_ratio
    losses = F.softplus(-self.beta * gap)
    return losses, self.beta * policy_chosen_logps.detach(), self.beta * policy_rejected_logps.detach()
