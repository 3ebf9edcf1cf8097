def integrated_gradients(network, embeddings, baselines, target, *, steps=16, quadrature="midpoint"):
    """Averages the baselines first and integrates along the one path from their mean."""
    nodes, weights = rule(quadrature, steps)
    baseline = baselines.mean(axis=0)
    difference = embeddings - baseline
    slopes = [network.gradient(node * embeddings, target) for node in nodes]
    values = difference * np.tensordot(weights, slopes, axes=1)
    gap = float(values.sum() - (network.probability(embeddings, target) - network.probability(baseline, target)))
    totals = values.sum(axis=1)
    return Explanation(values, totals / (np.linalg.norm(totals) + 1e-9), gap)
