# Wrong: the reference_free flag is inverted, so the opponent counts only when it should not.


def spin_loss(
    self,
    policy_real_logps: torch.FloatTensor,
    policy_generated_logps: torch.FloatTensor,
    opponent_real_logps: torch.FloatTensor,
    opponent_generated_logps: torch.FloatTensor,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    value = policy_real_logps - policy_generated_logps
    if reference_free:
        value = value - (opponent_real_logps - opponent_generated_logps)
    value = self.beta * value
    losses = F.softplus(-value) if self.loss_type == "sigmoid" else F.relu(1 - value)
    real_rewards = (self.beta * (policy_real_logps - opponent_real_logps)).detach()
    generated_rewards = (self.beta * (policy_generated_logps - opponent_generated_logps)).detach()
    return losses, real_rewards, generated_rewards
