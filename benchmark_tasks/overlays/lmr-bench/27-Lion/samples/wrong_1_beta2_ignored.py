# Wrong: the interpolated update is stored as the new momentum, so beta2 is never used.
@torch.no_grad()
def step(self, closure=None):
    """Run one Lion update and return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    for group in self.param_groups:
        beta1, _ = group["betas"]
        for p in group["params"]:
            if p.grad is None:
                continue
            state = self.state[p]
            m = state.get("exp_avg", torch.zeros_like(p))
            c = beta1 * m + (1 - beta1) * p.grad
            p.copy_(p - group["lr"] * (c.sign() + group["weight_decay"] * p))
            state["exp_avg"] = c
    return loss
