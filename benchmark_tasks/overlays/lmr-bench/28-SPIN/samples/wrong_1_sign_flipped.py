# Wrong: generated minus real inside the loss, so the policy learns to prefer its opponent's text.


def spin_loss(
    self,
    policy_real_logps: torch.FloatTensor,
    policy_generated_logps: torch.FloatTensor,
    opponent_real_logps: torch.FloatTensor,
    opponent_generated_logps: torch.FloatTensor,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    real_ratio = policy_real_logps - (0 if reference_free else opponent_real_logps)
    generated_ratio = policy_generated_logps - (0 if reference_free else opponent_generated_logps)
    value = self.beta * (generated_ratio - real_ratio)
    losses = F.softplus(-value) if self.loss_type == "sigmoid" else F.relu(1 - value)
    real_rewards = (self.beta * (policy_real_logps - opponent_real_logps)).detach()
    generated_rewards = (self.beta * (policy_generated_logps - opponent_generated_logps)).detach()
    return losses, real_rewards, generated_rewards
