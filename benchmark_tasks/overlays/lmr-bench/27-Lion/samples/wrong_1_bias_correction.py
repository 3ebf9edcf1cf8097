# Wrong: the momentum receives Adam's bias correction before it is mixed with the gradient.
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
            if not state:
                state["exp_avg"], state["step"] = torch.zeros_like(p), 0
            m = state["exp_avg"]
            corrected = m / (1 - b2 ** state["step"]) if state["step"] else m
            direction = torch.sign(b1 * corrected + (1 - b1) * p.grad)
            p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * direction)
            m.mul_(b2).add_((1 - b2) * p.grad)
            state["step"] += 1
    return loss
