# Wrong: the weight decay is not multiplied by the learning rate.
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
            p.mul_(1 - group["weight_decay"])
            p.sub_(group["lr"] * torch.lerp(p.grad, m, b1).sign())
            m.lerp_(p.grad, 1 - b2)
    return loss
