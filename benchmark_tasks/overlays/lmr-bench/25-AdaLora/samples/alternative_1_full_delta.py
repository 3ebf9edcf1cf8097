# Right: a helper builds the whole increment and one F.linear call applies it.
def low_rank_delta(layer):
    """The increment P diag(lambda) Q, of shape (out_features, in_features)."""
    weighted_left = layer.lora_B * layer.lora_E.flatten()
    return weighted_left.mm(layer.lora_A).mul(layer.scaling).div(layer.ranknum + 1e-5)


def forward(self, x: torch.Tensor):
    """Apply W and, while it is kept apart, the increment as a full matrix."""
    weight = self.weight.t() if self.fan_in_fan_out else self.weight
    y = F.linear(x, weight, self.bias)
    active = self.r > 0 and not self.merged
    return y + F.linear(self.lora_dropout(x), low_rank_delta(self)) if active else y
