# Right: einsum throughout, with the singular values applied to the r coordinates.
def forward(self, x: torch.Tensor):
    """Project on the right vectors, weight by the singular values, project on the left vectors."""
    equation = "...i,io->...o" if self.fan_in_fan_out else "...i,oi->...o"
    answer = torch.einsum(equation, x, self.weight)
    if self.bias is not None:
        answer = answer + self.bias
    if self.r > 0 and not self.merged:
        factor = self.scaling / (self.ranknum + 1e-5)
        coordinates = torch.einsum("...i,ri->...r", self.lora_dropout(x), self.lora_A)
        coordinates = coordinates * self.lora_E.squeeze(-1) * factor
        answer = answer + torch.einsum("...r,or->...o", coordinates, self.lora_B)
    return answer
