# Wrong: log(1 + exp(-t)) written out, which overflows to infinity when t is below about -88.


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
    value = self.beta * value
    losses = torch.log(1 + torch.exp(-value)) if self.loss_type == "sigmoid" else F.relu(1 - value)
    real_rewards = (self.beta * (policy_real_logps - opponent_real_logps)).detach()
    generated_rewards = (self.beta * (policy_generated_logps - opponent_generated_logps)).detach()
    return losses, real_rewards, generated_rewards
