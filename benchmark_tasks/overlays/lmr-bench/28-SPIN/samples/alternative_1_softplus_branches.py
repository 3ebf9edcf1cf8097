# Right: logistic loss through softplus, hinge on request; rewards always relative to the opponent.


def spin_loss(
    self,
    policy_real_logps: torch.FloatTensor,
    policy_generated_logps: torch.FloatTensor,
    opponent_real_logps: torch.FloatTensor,
    opponent_generated_logps: torch.FloatTensor,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """SPIN loss of every pair and the detached rewards of both responses."""
    policy_gap = policy_real_logps - policy_generated_logps
    opponent_gap = torch.zeros_like(policy_gap) if reference_free else opponent_real_logps - opponent_generated_logps
    scaled = self.beta * (policy_gap - opponent_gap)
    if self.loss_type == "sigmoid":
        losses = F.softplus(-scaled)
    elif self.loss_type == "hinge":
        losses = torch.clamp(1 - scaled, min=0)
    else:
        raise ValueError(f"loss_type must be sigmoid or hinge, got {self.loss_type}")
    real_rewards = self.beta * (policy_real_logps.detach() - opponent_real_logps.detach())
    generated_rewards = self.beta * (policy_generated_logps.detach() - opponent_generated_logps.detach())
    return losses, real_rewards, generated_rewards
