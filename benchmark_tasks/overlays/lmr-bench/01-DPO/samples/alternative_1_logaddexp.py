# Right: the loss as logaddexp of zero and the negated margin; the rewards are taken under no_grad.


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
    """Return the DPO losses and the detached implicit rewards of every pair."""
    policy_gap = policy_chosen_logps - policy_rejected_logps
    reference_gap = reference_chosen_logps - reference_rejected_logps
    negative_margin = beta * (reference_gap - policy_gap)
    losses = torch.logaddexp(torch.zeros_like(negative_margin), negative_margin)
    with torch.no_grad():
        chosen_rewards = beta * (policy_chosen_logps - reference_chosen_logps)
        rejected_rewards = beta * (policy_rejected_logps - reference_rejected_logps)
    return losses, chosen_rewards, rejected_rewards
