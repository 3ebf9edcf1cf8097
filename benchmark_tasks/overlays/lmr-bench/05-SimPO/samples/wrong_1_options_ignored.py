# Wrong: exactly Equation 6; the trainer's options for label smoothing and the hinge loss have no effect.


def simpo_loss(
    self,
    policy_chosen_logps: torch.FloatTensor,
    policy_rejected_logps: torch.FloatTensor,
) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """Negative log of the Bradley-Terry probability with target margin gamma."""
    gamma = self.gamma_beta_ratio * self.beta
    shortfall = gamma - self.beta * (policy_chosen_logps - policy_rejected_logps)
    losses = torch.logaddexp(shortfall, shortfall.new_zeros(()))
    chosen_rewards, rejected_rewards = (
        logps.detach() * self.beta for logps in (policy_chosen_logps, policy_rejected_logps)
    )
    return losses, chosen_rewards, rejected_rewards
