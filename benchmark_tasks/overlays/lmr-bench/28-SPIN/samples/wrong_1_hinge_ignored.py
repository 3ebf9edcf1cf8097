# Wrong: always the logistic loss, even if the trainer was built with loss_type "hinge".


def spin_loss(
    self,
    policy_real_logps: torch.FloatTensor,
    policy_generated_logps: torch.FloatTensor,
    opponent_real_logps: torch.FloatTensor,
    opponent_generated_logps: torch.FloatTensor,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    value = policy_real_logps - policy_generated_logps
    if not reference_free:
        value = value - (opponent_real_logps - opponent_generated_logps)
    losses = F.softplus(-self.beta * value)
    real_rewards = (self.beta * (policy_real_logps - opponent_real_logps)).detach()
    generated_rewards = (self.beta * (policy_generated_logps - opponent_generated_logps)).detach()
    return losses, real_rewards, generated_rewards
