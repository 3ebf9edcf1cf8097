# Right: pooled last five layers and pyemd on the joint support of both sentences.


def _pool_layers(layers):
    top = torch.nn.functional.normalize(layers[-5:], dim=-1)
    return torch.cat((top.amin(dim=0), top.mean(dim=0), top.amax(dim=0)), dim=-1)


def _keep(tokens):
    punctuation = frozenset(string.punctuation)
    return [n for n, token in enumerate(tokens) if token not in punctuation and "##" not in token]


def _words(pooled, idf, tokens):
    index = torch.tensor(_keep(tokens), dtype=torch.long)
    vectors = pooled[index.to(pooled.device)]
    weights = idf[index.to(idf.device)].double().cpu().numpy()
    return torch.nn.functional.normalize(vectors, dim=-1), weights / (weights.sum() + 1e-5)


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens):
    """Return one minus the word mover's distance of each pair."""
    ref_pooled, hyp_pooled = _pool_layers(ref_embedding), _pool_layers(hyp_embedding)
    scores = []
    for b, (ref_words, hyp_words) in enumerate(zip(ref_tokens, hyp_tokens)):
        ref_vectors, ref_mass = _words(ref_pooled[b], ref_idf[b], ref_words)
        hyp_vectors, hyp_mass = _words(hyp_pooled[b], hyp_idf[b], hyp_words)
        points = torch.cat((ref_vectors, hyp_vectors)).double().cpu().numpy()
        cost = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=-1)
        source = np.concatenate((ref_mass, np.zeros_like(hyp_mass)))
        target = np.concatenate((np.zeros_like(ref_mass), hyp_mass))
        scores.append(1.0 - float(emd(source, target, np.ascontiguousarray(cost))))
    return scores
