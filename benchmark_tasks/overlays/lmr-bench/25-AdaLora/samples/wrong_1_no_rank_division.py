# Wrong: the update is not divided by the rank.
def forward(self, x: torch.Tensor):
    """Frozen linear map plus the scaled low-rank update, unless the update is already merged."""
    kernel = self.weight.T if self.fan_in_fan_out else self.weight
    out = F.linear(x, kernel, self.bias)
    if self.r <= 0 or self.merged:
        return out
    triplets = self.lora_A * self.lora_E
    update = F.linear(F.linear(self.lora_dropout(x), triplets), self.lora_B)
    return out + update * self.scaling
