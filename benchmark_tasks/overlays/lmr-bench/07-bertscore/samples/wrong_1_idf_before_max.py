# Wrong: the idf weight of the matched token enters the maximum, so the greedy choice changes.
import torch.nn.functional as F


def greedy_cos_idf(
    ref_embedding,
    ref_masks,
    ref_idf,
    hyp_embedding,
    hyp_masks,
    hyp_idf,
):
    """Return the F1 BERTScore of each pair."""
    hyp_unit = F.normalize(hyp_embedding, dim=-1)
    ref_unit = F.normalize(ref_embedding, dim=-1)
    hyp_real, ref_real = hyp_masks.bool(), ref_masks.bool()
    cosines = torch.einsum("bid,bjd->bij", hyp_unit, ref_unit)
    valid = hyp_real[:, :, None] & ref_real[:, None, :]
    cosines = cosines.masked_fill(~valid, -1.0)
    hyp_weight = hyp_idf * hyp_real
    ref_weight = ref_idf * ref_real
    precision = ((cosines * ref_weight[:, None, :]).amax(2) * hyp_real).sum(1) / hyp_weight.sum(1)
    recall = ((cosines * hyp_weight[:, :, None]).amax(1) * ref_real).sum(1) / ref_weight.sum(1)
    f1 = 2 * precision * recall / (precision + recall)
    return f1.nan_to_num(0.0)
