# Wrong: the loss is computed from detached rewards, so training gets no gradient.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    chosen_rewards = self.beta * policy_chosen_logps.detach()
    rejected_rewards = self.beta * policy_rejected_logps.detach()
    losses = F.softplus(rejected_rewards - chosen_rewards + self.beta * self.gamma_beta_ratio)
    return losses, chosen_rewards, rejected_rewards
