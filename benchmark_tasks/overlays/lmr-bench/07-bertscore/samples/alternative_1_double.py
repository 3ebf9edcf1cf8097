# Right: double precision inside, weights normalised first, and a guarded division at the end.


def greedy_cos_idf(
    ref_embedding,
    ref_masks,
    ref_idf,
    hyp_embedding,
    hyp_masks,
    hyp_idf,
):
    """Return the F1 BERTScore of each pair."""

    def prepare(embedding, mask, idf):
        vectors = embedding.double()
        mask = mask.to(device=vectors.device, dtype=torch.bool)
        vectors = vectors * vectors.square().sum(-1, keepdim=True).clamp_min(1e-30).rsqrt()
        weight = torch.where(mask, idf.to(vectors), torch.zeros((), dtype=vectors.dtype, device=vectors.device))
        total = weight.sum(-1, keepdim=True)
        weight = weight / torch.where(total == 0, torch.ones_like(total), total)
        return vectors, mask, weight

    ref_vectors, ref_mask, ref_weight = prepare(ref_embedding, ref_masks, ref_idf)
    hyp_vectors, hyp_mask, hyp_weight = prepare(hyp_embedding, hyp_masks, hyp_idf)
    both = ref_mask.unsqueeze(2) & hyp_mask.unsqueeze(1)
    cosines = torch.bmm(ref_vectors, hyp_vectors.mT).where(both, torch.tensor(-2.0, dtype=torch.float64))
    recall = (cosines.max(dim=2).values * ref_weight).sum(-1)
    precision = (cosines.max(dim=1).values * hyp_weight).sum(-1)
    total = precision + recall
    has_tokens = both.flatten(1).any(dim=1)
    defined = (total != 0) & has_tokens & (ref_weight.sum(-1) != 0) & (hyp_weight.sum(-1) != 0)
    f1 = 2 * precision * recall / total.masked_fill(~defined, 1.0)
    return f1.masked_fill(~defined, 0.0).to(ref_embedding.dtype)
