# Right: the transport problem between the two sentences solved as a linear program with SciPy.
from scipy.optimize import linprog


def _sentence(layers, idf, tokens):
    kept = [
        k
        for k, piece in enumerate(tokens)
        if "##" not in piece and (len(piece) != 1 or piece not in string.punctuation)
    ]
    states = layers[-5:, kept, :].double().cpu().numpy()
    states = states / np.maximum(np.linalg.norm(states, axis=-1, keepdims=True), 1e-12)
    words = np.concatenate([states.min(axis=0), states.mean(axis=0), states.max(axis=0)], axis=-1)
    words = words / np.maximum(np.linalg.norm(words, axis=-1, keepdims=True), 1e-12)
    mass = idf.double().cpu().numpy()[kept]
    total = mass.sum()
    return words, mass / total if total > 0 else mass


def _transport(cost, supply, demand):
    rows, columns = cost.shape
    from_rows = np.kron(np.eye(rows), np.ones((1, columns)))
    to_columns = np.kron(np.ones((1, rows)), np.eye(columns))
    result = linprog(
        cost.ravel(),
        A_eq=np.vstack((from_rows, to_columns))[:-1],
        b_eq=np.concatenate((supply, demand))[:-1],
        bounds=(0, None),
        method="highs",
    )
    return float(result.fun)


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens):
    """Return one minus the word mover's distance of each pair."""
    scores = []
    for b in range(len(ref_tokens)):
        ref_words, supply = _sentence(ref_embedding[:, b], ref_idf[b], ref_tokens[b])
        hyp_words, demand = _sentence(hyp_embedding[:, b], hyp_idf[b], hyp_tokens[b])
        cost = np.maximum(2.0 - 2.0 * ref_words @ hyp_words.T, 0.0)
        scores.append(1.0 - _transport(cost, supply, demand))
    return scores
