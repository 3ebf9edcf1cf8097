# Wrong: the loss comes from detached scores, so no gradient reaches the policy.


def spin_loss(
    self,
    policy_real_logps: torch.FloatTensor,
    policy_generated_logps: torch.FloatTensor,
    opponent_real_logps: torch.FloatTensor,
    opponent_generated_logps: torch.FloatTensor,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    with torch.no_grad():
        real_rewards = self.beta * (policy_real_logps - opponent_real_logps)
        generated_rewards = self.beta * (policy_generated_logps - opponent_generated_logps)
        value = real_rewards - generated_rewards
        if reference_free:
            value = self.beta * (policy_real_logps - policy_generated_logps)
        losses = F.softplus(-value) if self.loss_type == "sigmoid" else F.relu(1 - value)
    return losses, real_rewards, generated_rewards
