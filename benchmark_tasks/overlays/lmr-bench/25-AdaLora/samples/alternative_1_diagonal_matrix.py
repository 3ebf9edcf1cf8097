# Right: matmul with an explicit diagonal matrix of singular values.
def forward(self, x: torch.Tensor):
    """Use an explicit diagonal matrix for the singular values."""
    weight = self.weight if self.fan_in_fan_out else self.weight.transpose(0, 1)
    frozen = x.matmul(weight)
    if self.bias is not None:
        frozen = frozen + self.bias
    if self.merged or self.r == 0:
        return frozen
    singular = torch.diag(self.lora_E.view(-1))
    path = self.lora_dropout(x).matmul(self.lora_A.t()).matmul(singular).matmul(self.lora_B.t())
    return torch.add(frozen, path * self.scaling / (self.ranknum + 1e-5))
