# Right: the multi-tensor form, with torch._foreach operations for the decay and the momentum.
@torch.no_grad()
def step(self, closure=None, bs=5120):
    """Run one Sophia-G update and return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()

    def flat(tensor):
        return torch.view_as_real(tensor) if torch.is_complex(tensor) else tensor

    for group in self.param_groups:
        weights, grads, momenta, curvatures, counters = [], [], [], [], []
        for p in group["params"]:
            if p.grad is None:
                continue
            slot = self.state[p]
            for key in ("exp_avg", "hessian"):
                if key not in slot:
                    slot[key] = torch.zeros_like(p)
            if "step" not in slot:
                slot["step"] = torch.zeros(())
            weights.append(flat(p))
            grads.append(flat(p.grad))
            momenta.append(flat(slot["exp_avg"]))
            curvatures.append(flat(slot["hessian"]))
            counters.append(slot["step"])
        if not weights:
            continue

        beta1, lr = group["betas"][0], group["lr"]
        sign = -1 if group["maximize"] else 1
        torch._foreach_add_(counters, 1)
        torch._foreach_mul_(weights, 1 - lr * group["weight_decay"])
        torch._foreach_mul_(momenta, beta1)
        torch._foreach_add_(momenta, grads, alpha=sign * (1 - beta1))
        for w, m, h in zip(weights, momenta, curvatures):
            bound = group["rho"] * bs * h + 1e-15
            w.add_(torch.where(m.abs() < bound, m / bound, m.sign()), alpha=-lr)
    return loss
