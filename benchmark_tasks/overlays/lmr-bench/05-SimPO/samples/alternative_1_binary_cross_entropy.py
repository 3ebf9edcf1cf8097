# Right: binary cross entropy with logits, whose target carries the label smoothing; hinge on request.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """Score every pair with binary cross entropy on the scaled reward margin."""
    scaled = (policy_chosen_logps - policy_rejected_logps).sub(self.gamma_beta_ratio).mul(self.beta)
    if self.loss_type == "hinge":
        losses = torch.maximum(1.0 - scaled, torch.zeros_like(scaled))
    elif self.loss_type == "sigmoid":
        target = torch.full_like(scaled, 1.0 - self.label_smoothing)
        losses = F.binary_cross_entropy_with_logits(scaled, target, reduction="none")
    else:
        raise ValueError(f"unsupported loss_type: {self.loss_type}")
    with torch.no_grad():
        chosen_rewards = policy_chosen_logps * self.beta
        rejected_rewards = policy_rejected_logps * self.beta
    return losses, chosen_rewards, rejected_rewards
