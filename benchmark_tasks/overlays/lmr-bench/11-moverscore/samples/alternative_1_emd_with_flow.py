# Right: pyemd's flow matrix, with the cost of the flow added up by hand.
from pyemd import emd_with_flow


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens):
    """Return one minus the word mover's distance of each pair."""
    sides = {}
    for side, embedding in (("ref", ref_embedding), ("hyp", hyp_embedding)):
        unit = embedding.float() / torch.linalg.vector_norm(embedding.float(), dim=-1, keepdim=True).clamp(min=1e-12)
        unit = unit[-5:]
        sides[side] = torch.cat([torch.min(unit, 0)[0], torch.sum(unit, 0) / unit.size(0), torch.max(unit, 0)[0]], 2)

    preds = []
    for row, (ref_row, hyp_row) in enumerate(zip(ref_tokens, hyp_tokens)):
        ref_ids = [k for k, t in enumerate(ref_row) if t not in list(string.punctuation) and t.find("##") < 0]
        hyp_ids = [k for k, t in enumerate(hyp_row) if t not in list(string.punctuation) and t.find("##") < 0]
        ref_count, total = len(ref_ids), len(ref_ids) + len(hyp_ids)
        stacked = torch.cat([sides["ref"][row, ref_ids], sides["hyp"][row, hyp_ids]]).double()
        stacked = stacked / (stacked.norm(dim=1, keepdim=True) + 1e-6)
        gram = (stacked @ stacked.T).cpu().numpy()
        squares = np.diag(gram)
        ground = np.clip(squares[:, None] + squares[None, :] - 2 * gram, 0.0, None)

        first, second = np.zeros(total), np.zeros(total)
        first[:ref_count] = ref_idf[row].double().cpu().numpy()[ref_ids]
        second[ref_count:] = hyp_idf[row].double().cpu().numpy()[hyp_ids]
        first /= first.sum() + 1e-5
        second /= second.sum() + 1e-5
        _, flow = emd_with_flow(first, second, ground)
        preds.append(1.0 - float((np.asarray(flow) * ground).sum()))
    return preds
