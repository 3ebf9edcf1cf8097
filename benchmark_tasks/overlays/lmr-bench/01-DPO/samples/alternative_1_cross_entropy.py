# Right: a two-way cross entropy over the stacked rewards, in which the chosen response is class 0.


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
    """Treat each pair as a two-way choice and return its negative log likelihood."""
    policy = torch.stack([policy_chosen_logps, policy_rejected_logps], dim=-1)
    reference = torch.stack([reference_chosen_logps, reference_rejected_logps], dim=-1)
    rewards = beta * (policy - reference)
    losses = torch.logsumexp(rewards, dim=-1) - rewards[..., 0]
    chosen_rewards, rejected_rewards = rewards.detach().unbind(dim=-1)
    return losses, chosen_rewards, rejected_rewards
