# Wrong: every parameter group is updated with the hyperparameters of the first group.
@torch.no_grad()
def step(self, closure=None):
    """Run one Lion update and return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    options = self.param_groups[0]
    lr, wd = options["lr"], options["weight_decay"]
    b1, b2 = options["betas"]
    for p in (q for group in self.param_groups for q in group["params"]):
        if p.grad is None:
            continue
        m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
        direction = torch.sign(b1 * m + (1 - b1) * p.grad)
        p.mul_(1 - lr * wd).sub_(lr * direction)
        m.mul_(b2).add_((1 - b2) * p.grad)
    return loss
