# Right: both interpolations through lerp, with the momentum stored under the paper's name m.
@torch.no_grad()
def step(self, closure=None):
    """Run one Lion update and return the closure's loss, if there is one."""
    loss = None if closure is None else torch.enable_grad()(closure)()
    trainable = ((p, group) for group in self.param_groups for p in group["params"] if p.grad is not None)
    for p, group in trainable:
        beta1, beta2 = group["betas"]
        momentum = self.state[p].setdefault("m", torch.zeros_like(p, memory_format=torch.preserve_format))
        update = torch.lerp(p.grad, momentum, beta1).sign_()
        update.add_(p, alpha=group["weight_decay"])
        p.add_(update, alpha=-group["lr"])
        momentum.lerp_(p.grad, 1 - beta2)
    return loss
