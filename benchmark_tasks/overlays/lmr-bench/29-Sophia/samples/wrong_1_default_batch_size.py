# Wrong: the batch size is fixed at its default of 5120, whatever the caller passes.
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
        sophiag(
            active,
            [p.grad for p in active],
            [self.state[p]["exp_avg"] for p in active],
            [self.state[p]["hessian"] for p in active],
            [self.state[p]["step"] for p in active],
            bs=5120,
            beta1=beta1,
            beta2=group["betas"][1],
            rho=group["rho"],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )
    return loss
