# Wrong: the filters run backwards in time.
def forward(self, u, *args, **kwargs):
    """Projections, then alternating gates and long convolutions, then the output projection."""
    seq_len = min(u.shape[-2], self.l_max)
    steps = self.order - 1
    z = self.in_proj(u).transpose(-1, -2)
    z = self.short_filter(z)[..., :seq_len]
    *gates, v = torch.split(z, self.d_model, dim=1)
    filters = self.filter_fn.filter(seq_len).squeeze(0)
    filters = filters.T.reshape(steps, self.d_model, seq_len)
    skips = self.filter_fn.bias.view(steps, self.d_model)
    for n in range(steps):
        v = self.dropout(v * gates[steps - n])
        v = self.filter_fn(v, seq_len, k=filters[n].flip(-1), bias=skips[n])
    v = v * gates[0]
    return self.out_proj(v.transpose(-1, -2))
