# Right: einops and a zip over gates, filters and skips; calls fftconv directly.
def forward(self, u, *args, **kwargs):
    """The recurrence as a loop over (gate, filter, skip) triples, shaped with einops."""
    length = min(u.size(1), self.l_max)
    features = self.short_filter(rearrange(self.in_proj(u), "b l c -> b c l"))
    features = features[:, :, :length]
    branches = rearrange(features, "b (n d) l -> n b d l", d=self.d_model)
    value, gates = branches[-1], branches[:-1]
    kernels = rearrange(self.filter_fn.filter(length), "1 l (n d) -> n d l", d=self.d_model)
    skips = rearrange(self.filter_fn.bias, "(n d) -> n d", d=self.d_model)
    for gate, kernel, skip in zip(gates[1:].flip(0), kernels, skips):
        value = fftconv(self.dropout(gate * value), kernel, skip)
    return self.out_proj(rearrange(gates[0] * value, "b d l -> b l d"))
