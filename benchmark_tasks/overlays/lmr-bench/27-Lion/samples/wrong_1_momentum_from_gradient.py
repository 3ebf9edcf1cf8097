# Wrong: the momentum starts at the first gradient instead of zero.
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
            state = self.state[p]
            if "exp_avg" not in state:
                state["exp_avg"] = p.grad.clone()
            m = state["exp_avg"]
            direction = torch.sign(b1 * m + (1 - b1) * p.grad)
            p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * direction)
            m.mul_(b2).add_((1 - b2) * p.grad)
    return loss
