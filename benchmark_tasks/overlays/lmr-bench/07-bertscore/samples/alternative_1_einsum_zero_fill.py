# Right: einsum, with masked similarities set to zero as in the released BERTScore package.


def _unit(vectors):
    length = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / length.clamp_min(1e-12)


def _weighted_average(values, idf, mask):
    weight = idf.to(values) * mask.to(values)
    return torch.einsum("bk,bk->b", values, weight) / weight.sum(dim=-1)


def greedy_cos_idf(
    ref_embedding,
    ref_masks,
    ref_idf,
    hyp_embedding,
    hyp_masks,
    hyp_idf,
):
    """Return the F1 BERTScore of each pair."""
    similarity = torch.einsum("brd,bhd->brh", _unit(ref_embedding), _unit(hyp_embedding))
    similarity = similarity * torch.einsum("br,bh->brh", ref_masks.to(similarity), hyp_masks.to(similarity))
    recall = _weighted_average(similarity.max(dim=2)[0], ref_idf, ref_masks)
    precision = _weighted_average(similarity.max(dim=1)[0], hyp_idf, hyp_masks)
    harmonic = 2 * precision * recall / (precision + recall)
    return torch.nan_to_num(harmonic, nan=0.0, posinf=0.0, neginf=0.0)
