# Wrong: the closure runs after the update, so the step uses old gradients and returns the later loss.
@torch.no_grad()
def step(self, closure=None):
    """Run one Lion update and return the closure's loss, if there is one."""
    for group in self.param_groups:
        b1, b2 = group["betas"]
        for p in group["params"]:
            if p.grad is None:
                continue
            m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
            direction = torch.sign(b1 * m + (1 - b1) * p.grad)
            p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * direction)
            m.mul_(b2).add_((1 - b2) * p.grad)
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()
