import math


def supervised_contrast(batch, *, temperature, negative_weight=1.0):
    """Anchor by anchor: list the rivals, then one log-sum-exp of differences to the target."""
    a, p, n = (first_last_average(states) for states in (batch.anchors, batch.positives, batch.negatives))
    near, far = cosine_table(a, p), cosine_table(a, n)
    losses, hits = [], 0
    for i in range(len(a)):
        target = near[i, i] / temperature
        rivals = [near[i, j] / temperature for j in range(len(a)) if j != i]
        for j in range(len(a)):
            if not batch.has_negative[j] or (i == j and negative_weight == 0):
                continue
            rivals.append(far[i, j] / temperature + (math.log(negative_weight) if i == j else 0.0))
        top = max([target, *rivals])
        total = math.exp(target - top) + sum(math.exp(rival - top) for rival in rivals)
        losses.append(top - target + math.log(total))
        hits += all(target > rival for rival in rivals)
    alignment = sum(2 - 2 * near[i, i] for i in range(len(a))) / len(a)
    return ContrastTerms(np.array(losses), hits / len(a), float(alignment))
