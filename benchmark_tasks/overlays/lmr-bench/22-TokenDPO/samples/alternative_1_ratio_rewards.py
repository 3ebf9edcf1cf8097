# Right: logaddexp for the loss; a reward is beta times the log ratio, as in the paper's definition of u.


def _tdpo_offset(kl_chosen, kl_rejected, weight, stop_gradient):
    anchor = kl_chosen.detach() if stop_gradient else kl_chosen
    return weight * (kl_rejected - anchor)


def tdpo_loss(
    chosen_logps_margin: torch.FloatTensor,
    rejected_logps_margin: torch.FloatTensor,
    chosen_position_kl: torch.FloatTensor,
    rejected_position_kl: torch.FloatTensor,
    beta: float,
    alpha: float = 0.5,
    if_tdpo2: bool = True,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """Equations 14 to 18: log sigmoid of u minus the weighted KL difference."""
    reward_w, reward_l = beta * chosen_logps_margin, beta * rejected_logps_margin
    weight = alpha if if_tdpo2 else 1.0
    offset = beta * _tdpo_offset(chosen_position_kl, rejected_position_kl, weight, if_tdpo2)
    argument = reward_w - reward_l - offset
    losses = torch.logaddexp(argument.new_zeros(()), -argument)
    return losses, reward_w.detach(), reward_l.detach()
