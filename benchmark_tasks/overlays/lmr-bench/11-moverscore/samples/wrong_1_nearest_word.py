# Wrong: each reference word goes to its nearest word, which is a lower bound and not the full transport.


def _vectors(layers, tokens):
    ids = [n for n, token in enumerate(tokens) if token not in set(string.punctuation) and "##" not in token]
    top = layers[-5:]
    top = top / top.norm(dim=-1, keepdim=True)
    words = torch.cat([top.amin(0), top.mean(0), top.amax(0)], dim=-1)
    words = words / words.norm(dim=-1, keepdim=True)
    return words[ids].double().cpu().numpy(), ids


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens):
    """Return one minus the word mover's distance of each pair."""
    scores = []
    for b in range(len(ref_tokens)):
        ref_words, ref_ids = _vectors(ref_embedding[:, b], ref_tokens[b])
        hyp_words, hyp_ids = _vectors(hyp_embedding[:, b], hyp_tokens[b])
        ref_mass = ref_idf[b][ref_ids].double().cpu().numpy()
        ref_mass = ref_mass / (ref_mass.sum() + 1e-5)
        ground = np.square(ref_words[:, None] - hyp_words[None]).sum(-1)
        scores.append(1 - float(ref_mass @ ground.min(axis=1)))
    return scores
