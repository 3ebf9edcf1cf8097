# Right: also honours label_smoothing, ipo and reference_free, which the task allows one to ignore.


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
    """DPO loss with the conservative, IPO and reference-free variants."""
    chosen_shift = policy_chosen_logps - reference_chosen_logps
    rejected_shift = policy_rejected_logps - reference_rejected_logps
    if reference_free:
        preference = policy_chosen_logps - policy_rejected_logps
    else:
        preference = chosen_shift - rejected_shift
    if ipo:
        losses = torch.square(preference - 0.5 / beta)
    else:
        losses = torch.lerp(F.softplus(-beta * preference), F.softplus(beta * preference), label_smoothing)
    return losses, beta * chosen_shift.detach(), beta * rejected_shift.detach()
