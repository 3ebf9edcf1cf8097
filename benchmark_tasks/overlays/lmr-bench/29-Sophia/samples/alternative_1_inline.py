# Right: updates each parameter directly, with the clipped ratio as a clamp between -1 and 1.
@torch.no_grad()
def step(self, closure=None, bs=5120):
    """Run one Sophia-G update and return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()

    def real(tensor):
        return torch.view_as_real(tensor) if tensor.is_complex() else tensor

    for group in self.param_groups:
        beta1 = group["betas"][0]
        for p in group["params"]:
            if p.grad is None:
                continue
            memory = self.state[p]
            if len(memory) == 0:
                memory.update(step=torch.tensor(0.0), exp_avg=torch.zeros_like(p), hessian=torch.zeros_like(p))
            if "hessian" not in memory:
                memory["hessian"] = torch.zeros_like(p)
            memory["step"] += 1

            theta, g = real(p), real(p.grad)
            m, h = real(memory["exp_avg"]), real(memory["hessian"])
            if group["maximize"]:
                g = g.neg()
            theta.mul_(1 - group["lr"] * group["weight_decay"])
            m.mul_(beta1).add_(g * (1 - beta1))
            scaled = m / (group["rho"] * bs * h).add(1e-15)
            theta.sub_(group["lr"] * scaled.clamp(-1.0, 1.0))
    return loss
