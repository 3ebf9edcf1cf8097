# Right: a plain loop over the parameters with in-place decay, signed step and momentum update.
@torch.no_grad()
def step(self, closure=None):
    """Run one Lion update and return the closure's loss, if there is one."""
    result = None
    if closure is not None:
        with torch.enable_grad():
            result = closure()

    for settings in self.param_groups:
        eta, wd = settings["lr"], settings["weight_decay"]
        b1, b2 = settings["betas"]
        for weight in settings["params"]:
            g = weight.grad
            if g is None:
                continue
            memory = self.state[weight]
            if "exp_avg" not in memory:
                memory["exp_avg"] = torch.zeros_like(weight)
            m = memory["exp_avg"]
            direction = (b1 * m + (1 - b1) * g).sign()
            weight.mul_(1 - eta * wd)
            weight.sub_(eta * direction)
            m.mul_(b2)
            m.add_((1 - b2) * g)
    return result
