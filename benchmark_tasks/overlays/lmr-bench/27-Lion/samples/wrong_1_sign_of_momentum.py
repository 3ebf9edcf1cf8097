# Wrong: the step takes the sign of the momentum after its update, so beta1 is never used.
@torch.no_grad()
def step(self, closure=None):
    """Run one Lion update and return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    for group in self.param_groups:
        beta2 = group["betas"][1]
        for p in group["params"]:
            if p.grad is None:
                continue
            state = self.state[p]
            if "exp_avg" not in state:
                state["exp_avg"] = torch.zeros_like(p)
            m = state["exp_avg"]
            m.mul_(beta2).add_((1 - beta2) * p.grad)
            p.mul_(1 - group["lr"] * group["weight_decay"])
            p.sub_(group["lr"] * m.sign())
    return loss
