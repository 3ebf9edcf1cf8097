# Right: a helper gives both implicit rewards, and softplus of their difference gives the loss.


def _implicit_reward(policy_logps, reference_logps, scale):
    return (policy_logps - reference_logps).mul(scale)


def preference_loss(
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
    reference_chosen_logps: torch.FloatTensor,
    reference_rejected_logps: torch.FloatTensor,
    beta: float,
    label_smoothing: float = 0.0,
    ipo: bool = False,
    reference_free: bool = False,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """Compare the implicit rewards of the two responses under the Bradley-Terry model."""
    reward_w = _implicit_reward(policy_chosen_logps, reference_chosen_logps, beta)
    reward_l = _implicit_reward(policy_rejected_logps, reference_rejected_logps, beta)
    losses = F.softplus(reward_l - reward_w)
    return losses, reward_w.detach(), reward_l.detach()
