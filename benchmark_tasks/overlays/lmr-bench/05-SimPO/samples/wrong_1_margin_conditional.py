# Wrong: the margin counts only where the chosen response does not lead yet.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    lead = policy_chosen_logps - policy_rejected_logps
    gap = torch.where(lead > 0, lead, lead - self.gamma_beta_ratio)
    losses = F.softplus(-self.beta * gap)
    return losses, self.beta * policy_chosen_logps.detach(), self.beta * policy_rejected_logps.detach()
