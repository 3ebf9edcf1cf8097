# Wrong: a level ends at its first comma, because the description is split at every comma.
def _save(path, content):
    with open(path, "wb") as stream:
        pickle.dump(content, stream)


def _similarities(first, second):
    encoder = SentenceTransformer("all-MiniLM-L6-v2")
    a, b = np.asarray(encoder.encode(list(first))), np.asarray(encoder.encode(list(second)))
    return np.diag(cosine_similarity(a, b))


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    first = [text.split(", ")[1].replace("Value: ", "") for text in enc_dec_pairs]
    second = [text.split(", ")[1].replace("Value: ", "") for text in enc_dec_pairs.values()]
    mean_value = float(np.mean(_similarities(first, second)))
    _save(pairs_file, enc_dec_pairs)
    _save(output_file, mean_value)
    return mean_value
