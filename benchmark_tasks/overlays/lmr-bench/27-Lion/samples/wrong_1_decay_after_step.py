# Wrong: the weight decay is applied to the weights that have already taken the signed step.
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
            p.sub_(group["lr"] * torch.sign(b1 * m + (1 - b1) * p.grad))
            p.mul_(1 - group["lr"] * group["weight_decay"])
            m.mul_(b2).add_((1 - b2) * p.grad)
    return loss
