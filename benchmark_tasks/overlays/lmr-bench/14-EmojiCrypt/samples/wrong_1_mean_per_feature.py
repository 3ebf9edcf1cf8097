# Wrong: similarities are averaged per feature first, so features with few levels weigh too much.
def _save(path, content):
    with open(path, "wb") as stream:
        pickle.dump(content, stream)


def _similarities(first, second):
    encoder = SentenceTransformer("all-MiniLM-L6-v2")
    a, b = np.asarray(encoder.encode(list(first))), np.asarray(encoder.encode(list(second)))
    return np.diag(cosine_similarity(a, b))


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    first = [text.split("Value: ", 1)[1] for text in enc_dec_pairs.keys()]
    second = [text.split("Value: ", 1)[1] for text in enc_dec_pairs.values()]
    features = [text.split(", Value: ", 1)[0] for text in enc_dec_pairs.keys()]
    table = pd.DataFrame({"feature": features, "similarity": _similarities(first, second)})
    mean_value = float(table.groupby("feature")["similarity"].mean().mean())
    _save(pairs_file, enc_dec_pairs)
    _save(output_file, mean_value)
    return mean_value
