# Wrong: converts the ratio to gamma first and then scales the margin by beta a second time.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    gamma = self.beta * self.gamma_beta_ratio
    losses = F.softplus(-self.beta * (policy_chosen_logps - policy_rejected_logps - gamma))
    return losses, self.beta * policy_chosen_logps.detach(), self.beta * policy_rejected_logps.detach()
