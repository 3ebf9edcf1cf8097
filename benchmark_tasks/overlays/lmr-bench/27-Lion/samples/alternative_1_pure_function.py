# Right: a pure function returns the new weight and momentum, which are then copied back.
def _lion_rule(theta, m, g, lr, beta1, beta2, decay):
    c = beta1 * m + (1.0 - beta1) * g
    new_theta = theta - lr * (torch.sign(c) + decay * theta)
    new_m = beta2 * m + (1.0 - beta2) * g
    return new_theta, new_m


@torch.no_grad()
def step(self, closure=None):
    """Run one Lion update and return the closure's loss, if there is one."""
    loss = None
    if callable(closure):
        torch.set_grad_enabled(True)
        try:
            loss = closure()
        finally:
            torch.set_grad_enabled(False)

    for group in self.param_groups:
        for theta in filter(lambda t: t.grad is not None, group["params"]):
            previous = self.state[theta].get("exp_avg")
            if previous is None:
                previous = torch.zeros_like(theta)
            theta_next, m_next = _lion_rule(
                theta, previous, theta.grad, group["lr"], *group["betas"], group["weight_decay"]
            )
            theta.copy_(theta_next)
            self.state[theta]["exp_avg"] = m_next
    return loss
