# Wrong: beta1 and beta2 are swapped between the update direction and the momentum.
@torch.no_grad()
def step(self, closure=None):
    """Run one Lion update and return the closure's loss, if there is one."""
    loss = None
    if closure is not None:
        with torch.enable_grad():
            loss = closure()
    for group in self.param_groups:
        rate, decay = group["lr"], group["weight_decay"]
        momentum_beta, update_beta = group["betas"]
        for p in group["params"]:
            if p.grad is None:
                continue
            state = self.state[p]
            if "exp_avg" not in state:
                state["exp_avg"] = torch.zeros_like(p)
            m = state["exp_avg"]
            direction = torch.sign(update_beta * m + (1 - update_beta) * p.grad)
            p.mul_(1 - rate * decay).sub_(rate * direction)
            m.mul_(momentum_beta).add_((1 - momentum_beta) * p.grad)
    return loss
