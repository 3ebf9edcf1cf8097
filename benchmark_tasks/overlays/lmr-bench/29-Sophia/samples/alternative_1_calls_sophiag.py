# Right: collects the tensors of each group and passes them to the file's sophiag function.
@torch.no_grad()
def step(self, closure=None, bs=5120):
    """Run one Sophia-G update and return the closure's loss, if there is one."""
    outcome = None
    if closure is not None:
        with torch.enable_grad():
            outcome = closure()

    for settings in self.param_groups:
        active = [w for w in settings["params"] if w.grad is not None]
        for w in active:
            if w.grad.is_sparse:
                raise RuntimeError("SophiaG cannot use sparse gradients")
            record = self.state[w]
            if "step" not in record:
                on_device = {"device": w.device} if settings["capturable"] else {}
                record["step"] = torch.zeros((1,) if settings["capturable"] else (), **on_device)
            for name in ("exp_avg", "hessian"):
                if name not in record:
                    record[name] = torch.zeros_like(w, memory_format=torch.preserve_format)

        batch = bs
        if settings["capturable"] and active and not torch.is_tensor(bs):
            batch = torch.full((1,), float(bs), device=active[0].device)
        sophiag(
            active,
            [w.grad for w in active],
            *([self.state[w][name] for w in active] for name in ("exp_avg", "hessian", "step")),
            settings["capturable"],
            bs=batch,
            beta1=settings["betas"][0],
            beta2=settings["betas"][1],
            **{name: settings[name] for name in ("rho", "lr", "weight_decay", "maximize")},
        )
    return outcome
