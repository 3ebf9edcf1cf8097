# Wrong: the embeddings are not normalised, so the scores are dot products, not cosines.


def greedy_cos_idf(
    ref_embedding,
    ref_masks,
    ref_idf,
    hyp_embedding,
    hyp_masks,
    hyp_idf,
):
    """Return the F1 BERTScore of each pair."""
    hyp_unit = hyp_embedding
    ref_unit = ref_embedding
    hyp_real, ref_real = hyp_masks.bool(), ref_masks.bool()
    cosines = torch.einsum("bid,bjd->bij", hyp_unit, ref_unit)
    valid = hyp_real[:, :, None] & ref_real[:, None, :]
    cosines = cosines.masked_fill(~valid, torch.finfo(cosines.dtype).min)
    hyp_weight = hyp_idf * hyp_real
    ref_weight = ref_idf * ref_real
    precision = (cosines.amax(2) * hyp_weight).sum(1) / hyp_weight.sum(1)
    recall = (cosines.amax(1) * ref_weight).sum(1) / ref_weight.sum(1)
    f1 = 2 * precision * recall / (precision + recall)
    return f1.nan_to_num(0.0)
