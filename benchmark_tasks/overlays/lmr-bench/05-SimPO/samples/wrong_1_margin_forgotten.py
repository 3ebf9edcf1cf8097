# Wrong: the target margin is left out of the loss.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    losses = F.softplus(self.beta * (policy_rejected_logps - policy_chosen_logps))
    return losses, self.beta * policy_chosen_logps.detach(), self.beta * policy_rejected_logps.detach()
