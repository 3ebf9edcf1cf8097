# Right: TDPO2 by default, TDPO1 on request; a reward is beta times log ratio plus sequential KL.


def tdpo_loss(
    chosen_logps_margin: torch.FloatTensor,
    rejected_logps_margin: torch.FloatTensor,
    chosen_position_kl: torch.FloatTensor,
    rejected_position_kl: torch.FloatTensor,
    beta: float,
    alpha: float = 0.5,
    if_tdpo2: bool = True,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """TDPO losses of a batch of pairs; the rewards are detached."""
    if if_tdpo2:
        delta = alpha * (rejected_position_kl - chosen_position_kl.detach())
    else:
        delta = rejected_position_kl - chosen_position_kl
    utility = chosen_logps_margin - rejected_logps_margin
    losses = F.softplus(beta * (delta - utility))
    with torch.no_grad():
        chosen_rewards = beta * (chosen_logps_margin + chosen_position_kl)
        rejected_rewards = beta * (rejected_logps_margin + rejected_position_kl)
    return losses, chosen_rewards, rejected_rewards
