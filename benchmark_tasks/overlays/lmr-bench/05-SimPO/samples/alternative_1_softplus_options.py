# Right: sigmoid loss through softplus, with the configured hinge loss and label smoothing.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """SimPO loss; the rewards are beta times the length-normalised log probabilities."""
    target_margin = self.beta * self.gamma_beta_ratio
    rewards = {"chosen": self.beta * policy_chosen_logps, "rejected": self.beta * policy_rejected_logps}
    excess = rewards["chosen"] - rewards["rejected"] - target_margin
    if self.loss_type == "sigmoid":
        smoothing = self.label_smoothing
        losses = F.softplus(-excess) * (1 - smoothing) + F.softplus(excess) * smoothing
    elif self.loss_type == "hinge":
        losses = torch.clamp(1 - excess, min=0)
    else:
        raise ValueError(f"SimPO knows the loss types sigmoid and hinge, not {self.loss_type!r}")
    return losses, rewards["chosen"].detach(), rewards["rejected"].detach()
