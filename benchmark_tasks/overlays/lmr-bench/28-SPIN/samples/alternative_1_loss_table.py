# Right: looks the convex loss up in a table; without a reference the rewards leave the opponent out too.


def _logistic(value):
    return torch.logaddexp(torch.zeros_like(value), -value)


def _hinge(value):
    return torch.where(value < 1, 1 - value, torch.zeros_like(value))


def spin_loss(
    self,
    policy_real_logps: torch.FloatTensor,
    policy_generated_logps: torch.FloatTensor,
    opponent_real_logps: torch.FloatTensor,
    opponent_generated_logps: torch.FloatTensor,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """Apply the chosen convex loss to the difference of the two log-ratio scores."""
    convex_losses = {"sigmoid": _logistic, "hinge": _hinge}
    if self.loss_type not in convex_losses:
        raise ValueError(f"unknown loss type {self.loss_type!r}")
    real_score, generated_score = policy_real_logps, policy_generated_logps
    if not reference_free:
        real_score = real_score - opponent_real_logps
        generated_score = generated_score - opponent_generated_logps
    real_score, generated_score = self.beta * real_score, self.beta * generated_score
    losses = convex_losses[self.loss_type](real_score - generated_score)
    return losses, real_score.detach(), generated_score.detach()
