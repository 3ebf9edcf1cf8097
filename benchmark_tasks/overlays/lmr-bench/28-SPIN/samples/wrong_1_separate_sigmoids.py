# Wrong: sums one logistic loss for each response instead of one on the difference of the two.


def spin_loss(
    self,
    policy_real_logps: torch.FloatTensor,
    policy_generated_logps: torch.FloatTensor,
    opponent_real_logps: torch.FloatTensor,
    opponent_generated_logps: torch.FloatTensor,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    real_value = self.beta * (policy_real_logps - (0 if reference_free else opponent_real_logps))
    generated_value = self.beta * (policy_generated_logps - (0 if reference_free else opponent_generated_logps))
    if self.loss_type == "sigmoid":
        losses = F.softplus(-real_value) + F.softplus(generated_value)
    else:
        losses = F.relu(1 - (real_value - generated_value))
    real_rewards = (self.beta * (policy_real_logps - opponent_real_logps)).detach()
    generated_rewards = (self.beta * (policy_generated_logps - opponent_generated_logps)).detach()
    return losses, real_rewards, generated_rewards
