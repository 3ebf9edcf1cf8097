# Right: normalised batch product, padding set to minus infinity before the row and column maxima.
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
    cosines = F.normalize(hyp_embedding, dim=-1) @ F.normalize(ref_embedding, dim=-1).transpose(-2, -1)
    hyp_real = hyp_masks.bool().to(cosines.device)
    ref_real = ref_masks.bool().to(cosines.device)
    floor = float("-inf")
    best_for_hyp = cosines.masked_fill(~ref_real[:, None, :], floor).amax(dim=2)
    best_for_ref = cosines.masked_fill(~hyp_real[:, :, None], floor).amax(dim=1)
    best_for_hyp = best_for_hyp.masked_fill(~hyp_real, 0.0)
    best_for_ref = best_for_ref.masked_fill(~ref_real, 0.0)

    hyp_weight = hyp_idf.to(cosines).masked_fill(~hyp_real, 0.0)
    ref_weight = ref_idf.to(cosines).masked_fill(~ref_real, 0.0)
    precision = (hyp_weight * best_for_hyp).sum(dim=1) / hyp_weight.sum(dim=1)
    recall = (ref_weight * best_for_ref).sum(dim=1) / ref_weight.sum(dim=1)
    f1 = 2.0 * precision * recall / (precision + recall)
    return torch.where(torch.isfinite(f1), f1, torch.zeros_like(f1))
