# Right: binary cross entropy with logits and target 1, or a hinge by relu; rewards computed first.


def _log_ratio_reward(policy_logps, opponent_logps, scale):
    return torch.sub(policy_logps, opponent_logps).detach() * scale


def spin_loss(
    self,
    policy_real_logps: torch.FloatTensor,
    policy_generated_logps: torch.FloatTensor,
    opponent_real_logps: torch.FloatTensor,
    opponent_generated_logps: torch.FloatTensor,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """Logistic or hinge loss on beta times the difference of the log ratios."""
    rewards = (
        _log_ratio_reward(policy_real_logps, opponent_real_logps, self.beta),
        _log_ratio_reward(policy_generated_logps, opponent_generated_logps, self.beta),
    )
    advantage = policy_real_logps - policy_generated_logps
    if not reference_free:
        advantage = advantage + opponent_generated_logps - opponent_real_logps
    advantage = advantage * self.beta
    match self.loss_type:
        case "sigmoid":
            losses = F.binary_cross_entropy_with_logits(advantage, torch.ones_like(advantage), reduction="none")
        case "hinge":
            losses = F.relu(advantage.neg().add(1.0))
        case other:
            raise ValueError(f"no SPIN loss is called {other!r}")
    return losses, *rewards
