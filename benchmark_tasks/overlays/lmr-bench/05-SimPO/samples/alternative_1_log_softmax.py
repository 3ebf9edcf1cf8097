# Right: log-softmax over the chosen reward less gamma and the rejected reward; reads options if set.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """Two-way softmax form of the SimPO objective."""
    rewards = self.beta * torch.stack((policy_chosen_logps, policy_rejected_logps))
    handicap = torch.tensor([[self.beta * self.gamma_beta_ratio], [0.0]], dtype=rewards.dtype, device=rewards.device)
    if getattr(self, "loss_type", "sigmoid") == "hinge":
        gap = (rewards - handicap)[0] - (rewards - handicap)[1]
        losses = F.relu(1 - gap)
    else:
        smoothing = getattr(self, "label_smoothing", 0.0)
        log_probs = torch.log_softmax(rewards - handicap, dim=0)
        losses = -(log_probs[0] * (1 - smoothing) + log_probs[1] * smoothing)
    chosen_rewards, rejected_rewards = rewards.detach()
    return losses, chosen_rewards, rejected_rewards
