# Wrong: the first step clears a Hessian that update_hessian has already filled.
@torch.no_grad()
def step(self, closure=None, bs=5120):
    """Run one Sophia-G update and return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    for group in self.param_groups:
        beta1 = group["betas"][0]
        for p in group["params"]:
            if p.grad is None:
                continue
            entry = self.state[p]
            if "step" not in entry or entry["step"] == 0:
                entry["step"] = torch.tensor(0.0)
                entry["exp_avg"] = torch.zeros_like(p)
                entry["hessian"] = torch.zeros_like(p)
            entry["step"] += 1
            g = -p.grad if group["maximize"] else p.grad
            p.mul_(1 - group["lr"] * group["weight_decay"])
            m = entry["exp_avg"].mul_(beta1).add_((1 - beta1) * g)
            scaled = m / (group["rho"] * bs * entry["hessian"] + 1e-15)
            p.sub_(group["lr"] * scaled.clamp(-1, 1))
    return loss
