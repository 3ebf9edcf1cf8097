# Right: logsumexp over stacked TDPO2 scores, flag ignored; a reward is beta times the log ratio.


def tdpo_loss(
    chosen_logps_margin: torch.FloatTensor,
    rejected_logps_margin: torch.FloatTensor,
    chosen_position_kl: torch.FloatTensor,
    rejected_position_kl: torch.FloatTensor,
    beta: float,
    alpha: float = 0.5,
    if_tdpo2: bool = True,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """Two-way softmax over the KL-corrected scores of both responses."""
    margins = torch.stack((chosen_logps_margin, rejected_logps_margin), dim=-1)
    corrections = torch.stack((chosen_position_kl.detach(), rejected_position_kl), dim=-1)
    scores = beta * torch.add(margins, corrections, alpha=alpha)
    losses = scores.logsumexp(dim=-1) - scores.select(-1, 0)
    chosen_rewards, rejected_rewards = (beta * margins).detach().unbind(-1)
    return losses, chosen_rewards, rejected_rewards
