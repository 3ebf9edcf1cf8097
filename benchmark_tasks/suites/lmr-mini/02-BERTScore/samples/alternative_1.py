import math


def _cosine(left, right):
    size = math.sqrt(float(left @ left)) * math.sqrt(float(right @ right))
    return float(left @ right) / size if size > 0 else 0.0


def _share(vectors, weights, others):
    total = sum(weights)
    if total <= 0 or not len(others):
        return 0.0
    return sum(w * max(_cosine(v, o) for o in others) for v, w in zip(vectors, weights)) / total


def greedy_match(candidates, references):
    """Sentence by sentence, with plain loops over the real tokens only."""
    rows = []
    for row in range(len(candidates.mask)):
        keep, other = candidates.mask[row], references.mask[row]
        ours, theirs = candidates.embeddings[row][keep], references.embeddings[row][other]
        precision = _share(ours, candidates.weights[row][keep].tolist(), theirs)
        recall = _share(theirs, references.weights[row][other].tolist(), ours)
        both = precision + recall
        rows.append((precision, recall, 2 * precision * recall / both if both > 0 else 0.0))
    table = np.array(rows, dtype=np.float64)
    return {"precision": table[:, 0], "recall": table[:, 1], "f1": table[:, 2]}
