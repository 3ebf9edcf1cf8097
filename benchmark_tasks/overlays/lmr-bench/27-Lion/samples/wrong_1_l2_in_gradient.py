# Wrong: the weight decay is added to the gradient before the sign instead of being decoupled.
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
            g = p.grad + group["weight_decay"] * p
            m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
            p.sub_(group["lr"] * torch.sign(b1 * m + (1 - b1) * g))
            m.mul_(b2).add_((1 - b2) * g)
    return loss
