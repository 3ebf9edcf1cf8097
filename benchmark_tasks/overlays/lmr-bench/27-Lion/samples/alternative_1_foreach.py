# Right: the multi-tensor form, which handles each parameter group with torch._foreach operations.
def _momenta(optimizer, tensors):
    for tensor in tensors:
        slot = optimizer.state[tensor]
        if len(slot) == 0:
            slot["exp_avg"] = torch.zeros_like(tensor)
    return [optimizer.state[tensor]["exp_avg"] for tensor in tensors]


@torch.no_grad()
def step(self, closure=None):
    """Run one Lion update and return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()

    for group in self.param_groups:
        weights = [w for w in group["params"] if w.grad is not None]
        if not weights:
            continue
        grads = [w.grad for w in weights]
        averages = _momenta(self, weights)
        beta1, beta2 = group["betas"]

        mixed = torch._foreach_mul(averages, beta1)
        torch._foreach_add_(mixed, grads, alpha=1 - beta1)
        signs = [c.sign() for c in mixed]

        torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_add_(weights, signs, alpha=-group["lr"])

        torch._foreach_mul_(averages, beta2)
        torch._foreach_add_(averages, grads, alpha=1 - beta2)
    return loss
