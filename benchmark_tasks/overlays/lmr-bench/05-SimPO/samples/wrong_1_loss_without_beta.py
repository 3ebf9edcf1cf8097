# Wrong: the loss uses the bare difference minus the ratio, and beta scales the rewards alone.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    losses = F.softplus(self.gamma_beta_ratio - (policy_chosen_logps - policy_rejected_logps))
    return losses, self.beta * policy_chosen_logps.detach(), self.beta * policy_rejected_logps.detach()
