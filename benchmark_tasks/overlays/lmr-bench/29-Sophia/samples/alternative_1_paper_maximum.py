# Right: follows Algorithm 3 literally, dividing by the larger of the scaled Hessian and a tiny epsilon.
_TINY = 1e-15


def _clipped_direction(momentum, curvature, scale):
    preconditioned = momentum / torch.clamp(scale * curvature, min=_TINY)
    return torch.minimum(torch.ones_like(momentum), preconditioned.abs()) * torch.sign(momentum)


def _fresh(optimizer, tensor):
    entry = optimizer.state[tensor]
    entry.setdefault("step", torch.tensor(0.0))
    entry.setdefault("exp_avg", torch.zeros_like(tensor))
    entry.setdefault("hessian", torch.zeros_like(tensor))
    return entry


@torch.no_grad()
def step(self, closure=None, bs=5120):
    """Run one Sophia-G update and return the closure's loss, if there is one."""
    loss = torch.enable_grad()(closure)() if closure is not None else None
    for group in self.param_groups:
        b1, eta = group["betas"][0], group["lr"]
        direction_of_gradient = -1.0 if group["maximize"] else 1.0
        for p in [q for q in group["params"] if q.grad is not None]:
            entry = _fresh(self, p)
            entry["step"].add_(1)
            weight, gradient, m, h = (
                torch.view_as_real(t) if torch.is_complex(t) else t
                for t in (p, p.grad, entry["exp_avg"], entry["hessian"])
            )
            m.lerp_(direction_of_gradient * gradient, 1 - b1)
            decayed = weight - eta * group["weight_decay"] * weight
            weight.copy_(decayed - eta * _clipped_direction(m, h, group["rho"] * bs))
    return loss
