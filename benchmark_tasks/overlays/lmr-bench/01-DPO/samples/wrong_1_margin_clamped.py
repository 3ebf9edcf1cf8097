# Wrong: the margin is clamped to [-10, 10], so the loss and its gradient saturate on clear pairs.


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
    chosen_ratio = policy_chosen_logps - reference_chosen_logps
    rejected_ratio = policy_rejected_logps - reference_rejected_logps
    margin = (beta * (chosen_ratio - rejected_ratio)).clamp(min=-10.0, max=10.0)
    return F.softplus(-margin), beta * chosen_ratio.detach(), beta * rejected_ratio.detach()
