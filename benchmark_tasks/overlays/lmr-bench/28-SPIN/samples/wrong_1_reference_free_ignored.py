# Wrong: the reference_free flag has no effect, and the opponent always counts.


def spin_loss(
    self,
    policy_real_logps: torch.FloatTensor,
    policy_generated_logps: torch.FloatTensor,
    opponent_real_logps: torch.FloatTensor,
    opponent_generated_logps: torch.FloatTensor,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    real_ratio = policy_real_logps - opponent_real_logps
    generated_ratio = policy_generated_logps - opponent_generated_logps
    value = self.beta * (real_ratio - generated_ratio)
    losses = F.softplus(-value) if self.loss_type == "sigmoid" else F.relu(1 - value)
    return losses, self.beta * real_ratio.detach(), self.beta * generated_ratio.detach()
