# Right: always TDPO2, since if_tdpo2 may be ignored; the loss is binary cross entropy with target 1.


def tdpo_loss(
    chosen_logps_margin: torch.FloatTensor,
    rejected_logps_margin: torch.FloatTensor,
    chosen_position_kl: torch.FloatTensor,
    rejected_position_kl: torch.FloatTensor,
    beta: float,
    alpha: float = 0.5,
    if_tdpo2: bool = True,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """TDPO2 loss through binary cross entropy with logits."""
    kl_target = chosen_position_kl.detach().clone()
    kl_gap = rejected_position_kl - kl_target
    logits = (chosen_logps_margin - rejected_logps_margin - alpha * kl_gap) * beta
    losses = F.binary_cross_entropy_with_logits(logits, torch.ones_like(logits), reduction="none")
    chosen_rewards = (chosen_logps_margin.detach() + chosen_position_kl.detach()) * beta
    rejected_rewards = (rejected_logps_margin.detach() + rejected_position_kl.detach()) * beta
    return losses, chosen_rewards, rejected_rewards
