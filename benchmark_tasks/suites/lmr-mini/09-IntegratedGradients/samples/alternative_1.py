def integrated_gradients(network, embeddings, baselines, target, *, steps=16, quadrature="midpoint"):
    """Walks over the nodes outside and the baselines inside, and collects the mean path effect."""
    values = np.zeros(embeddings.shape)
    for position, weight in zip(*rule(quadrature, steps)):
        for start in baselines:
            point = (1 - position) * start + position * embeddings
            values += weight / len(baselines) * (embeddings - start) * network.gradient(point, target)
    effects = [network.probability(embeddings, target) - network.probability(start, target) for start in baselines]
    gap = values.sum() - sum(effects) / len(effects)
    totals = np.array([row.sum() for row in values])
    size = max(abs(total) for total in totals)
    return Explanation(values, totals / size if size else totals, float(gap))
