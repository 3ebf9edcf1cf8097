# Wrong: the maximize option is ignored, so the optimizer always descends.
@torch.no_grad()
def step(self, closure=None, bs=5120):
    """Run one Sophia-G update and return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    for group in self.param_groups:
        beta1 = group["betas"][0]
        active = [p for p in group["params"] if p.grad is not None]
        for p in active:
            entry = self.state[p]
            if "step" not in entry:
                entry["step"] = torch.tensor(0.0)
            for name in ("exp_avg", "hessian"):
                if name not in entry:
                    entry[name] = torch.zeros_like(p)
        for p in active:
            entry = self.state[p]
            entry["step"] += 1
            p.mul_(1 - group["lr"] * group["weight_decay"])
            m = entry["exp_avg"].mul_(beta1).add_((1 - beta1) * p.grad)
            scaled = m / (group["rho"] * bs * entry["hessian"] + 1e-15)
            p.sub_(group["lr"] * scaled.clamp(-1, 1))
    return loss
