# Wrong: takes gamma_beta_ratio for gamma, so the margin is not scaled by beta.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    gap = self.beta * (policy_chosen_logps - policy_rejected_logps) - self.gamma_beta_ratio
    losses = F.softplus(-gap)
    return losses, self.beta * policy_chosen_logps.detach(), self.beta * policy_rejected_logps.detach()
