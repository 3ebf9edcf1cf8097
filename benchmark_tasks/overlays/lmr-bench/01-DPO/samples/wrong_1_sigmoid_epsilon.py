# Wrong: adds 1e-6 inside the logarithm, so badly ordered pairs have a loss that stops near 13.8.


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
    probability = torch.sigmoid(beta * (chosen_ratio - rejected_ratio))
    return -torch.log(probability + 1e-6), beta * chosen_ratio.detach(), beta * rejected_ratio.detach()
