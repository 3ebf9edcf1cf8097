# Wrong: the rewards leave the opponent out although a reference is in use.


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
    losses = F.softplus(-value) if self.loss_type == "sigmoid" else F.relu(1 - value)
    return losses, self.beta * policy_real_logps.detach(), self.beta * policy_generated_logps.detach()
