# Right: one pair at a time, padding cut away first, cosine similarity by broadcasting.
from torch.nn.functional import cosine_similarity


def _pair_f1(ref_vectors, ref_weights, hyp_vectors, hyp_weights):
    if len(ref_vectors) == 0 or len(hyp_vectors) == 0:
        return 0.0
    table = cosine_similarity(ref_vectors[:, None, :], hyp_vectors[None, :, :], dim=-1)
    recall = torch.dot(ref_weights, table.max(dim=1).values) / ref_weights.sum()
    precision = torch.dot(hyp_weights, table.max(dim=0).values) / hyp_weights.sum()
    f1 = (2 * precision * recall / (precision + recall)).item()
    return f1 if abs(f1) < float("inf") else 0.0


def greedy_cos_idf(
    ref_embedding,
    ref_masks,
    ref_idf,
    hyp_embedding,
    hyp_masks,
    hyp_idf,
):
    """Return the F1 BERTScore of each pair."""
    scores = []
    for b in range(ref_embedding.shape[0]):
        keep_ref = ref_masks[b] != 0
        keep_hyp = hyp_masks[b] != 0
        ref_vectors, hyp_vectors = ref_embedding[b][keep_ref], hyp_embedding[b][keep_hyp]
        ref_weights = ref_idf[b][keep_ref].to(ref_vectors)
        hyp_weights = hyp_idf[b][keep_hyp].to(hyp_vectors)
        scores.append(_pair_f1(ref_vectors, ref_weights, hyp_vectors, hyp_weights))
    return torch.tensor(scores, dtype=ref_embedding.dtype, device=ref_embedding.device)
