# Wrong: the reported reward of the chosen response already has the target margin subtracted.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    chosen_rewards = self.beta * (policy_chosen_logps - self.gamma_beta_ratio)
    rejected_rewards = self.beta * policy_rejected_logps
    losses = F.softplus(rejected_rewards - chosen_rewards)
    return losses, chosen_rewards.detach(), rejected_rewards.detach()
