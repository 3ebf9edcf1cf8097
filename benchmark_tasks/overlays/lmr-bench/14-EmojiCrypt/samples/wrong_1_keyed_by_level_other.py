# Wrong: pairs are keyed by the original level alone, so features that share a level overwrite each other.
def _save(path, content):
    with open(path, "wb") as stream:
        pickle.dump(content, stream)


def _similarities(first, second):
    encoder = SentenceTransformer("all-MiniLM-L6-v2")
    a, b = np.asarray(encoder.encode(list(first))), np.asarray(encoder.encode(list(second)))
    return np.diag(cosine_similarity(a, b))


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    levels = {}
    for original, recovered in enc_dec_pairs.items():
        levels[original.split("Value: ", 1)[1]] = recovered.split("Value: ", 1)[1]
    mean_value = float(np.mean(_similarities(levels.keys(), levels.values())))
    _save(pairs_file, enc_dec_pairs)
    _save(output_file, mean_value)
    return mean_value
