# Wrong: a coordinate whose update is zero is moved as if its sign were +1.
@torch.no_grad()
def step(self, closure=None):
    """Run one Lion update and return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    for group in self.param_groups:
        b1, b2 = group["betas"]
        for p in group["params"]:
            if p.grad is None:
                continue
            m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
            c = b1 * m + (1 - b1) * p.grad
            direction = torch.where(c >= 0, torch.ones_like(c), -torch.ones_like(c))
            p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * direction)
            m.mul_(b2).add_((1 - b2) * p.grad)
    return loss
