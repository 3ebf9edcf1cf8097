# Wrong: the layers are only averaged; their minimum and maximum are missing.


def _vectors(layers, tokens):
    ids = [n for n, token in enumerate(tokens) if token not in set(string.punctuation) and "##" not in token]
    top = layers[-5:]
    top = top / top.norm(dim=-1, keepdim=True)
    words = top.mean(0)
    words = words / words.norm(dim=-1, keepdim=True)
    return words[ids].double().cpu().numpy(), ids


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens):
    """Return one minus the word mover's distance of each pair."""
    scores = []
    for b in range(len(ref_tokens)):
        ref_words, ref_ids = _vectors(ref_embedding[:, b], ref_tokens[b])
        hyp_words, hyp_ids = _vectors(hyp_embedding[:, b], hyp_tokens[b])
        ref_mass = ref_idf[b][ref_ids].double().cpu().numpy()
        hyp_mass = hyp_idf[b][hyp_ids].double().cpu().numpy()
        ref_mass = ref_mass / (ref_mass.sum() + 1e-5)
        hyp_mass = hyp_mass / (hyp_mass.sum() + 1e-5)
        words = np.concatenate([ref_words, hyp_words])
        ground = np.square(words[:, None] - words[None]).sum(-1)
        source = np.concatenate([ref_mass, np.zeros(len(hyp_ids))])
        target = np.concatenate([np.zeros(len(ref_ids)), hyp_mass])
        scores.append(1 - emd(source, target, ground))
    return scores
