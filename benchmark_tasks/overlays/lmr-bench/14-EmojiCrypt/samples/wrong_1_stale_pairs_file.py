# Wrong: an existing pairs file replaces the given pairs, so a second call returns the first call's result.
import os


def _save(path, content):
    with open(path, "wb") as stream:
        pickle.dump(content, stream)


def _similarities(first, second):
    encoder = SentenceTransformer("all-MiniLM-L6-v2")
    a, b = np.asarray(encoder.encode(list(first))), np.asarray(encoder.encode(list(second)))
    return np.diag(cosine_similarity(a, b))


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    if os.path.exists(pairs_file):
        with open(pairs_file, "rb") as stream:
            enc_dec_pairs = pickle.load(stream)
    else:
        _save(pairs_file, enc_dec_pairs)
    first = [text.split("Value: ", 1)[1] for text in enc_dec_pairs.keys()]
    second = [text.split("Value: ", 1)[1] for text in enc_dec_pairs.values()]
    mean_value = float(np.mean(_similarities(first, second)))
    _save(output_file, mean_value)
    return mean_value
