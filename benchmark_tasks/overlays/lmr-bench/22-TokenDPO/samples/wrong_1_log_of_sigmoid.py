# Wrong: takes the log of the sigmoid, which is infinite once its argument falls below about -104.


def tdpo_loss(
    chosen_logps_margin: torch.FloatTensor,
    rejected_logps_margin: torch.FloatTensor,
    chosen_position_kl: torch.FloatTensor,
    rejected_position_kl: torch.FloatTensor,
    beta: float,
    alpha: float = 0.5,
    if_tdpo2: bool = True,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    delta = alpha * (rejected_position_kl - chosen_position_kl.detach())
    losses = -torch.sigmoid(beta * (chosen_logps_margin - rejected_logps_margin - delta)).log()
    chosen_rewards = beta * (chosen_logps_margin + chosen_position_kl).detach()
    rejected_rewards = beta * (rejected_logps_margin + rejected_position_kl).detach()
    return losses, chosen_rewards, rejected_rewards
