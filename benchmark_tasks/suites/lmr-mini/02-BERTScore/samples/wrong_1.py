def greedy_match(candidates, references):
    """Zeroes padded similarities instead of excluding them, and averages precision over all padded positions."""
    similarity = unit_vectors(candidates.embeddings) @ np.swapaxes(unit_vectors(references.embeddings), 1, 2)
    similarity = similarity * candidates.mask[:, :, None] * references.mask[:, None, :]
    precision = (similarity.max(axis=2) * candidates.weights).sum(axis=1) / (candidates.weights.sum(axis=1) + 1e-9)
    recall = (similarity.max(axis=1) * references.weights).sum(axis=1) / (references.weights.sum(axis=1) + 1e-9)
    f1 = 2 * precision * recall / (precision + recall + 1e-9)
    return {"precision": precision, "recall": recall, "f1": f1}
