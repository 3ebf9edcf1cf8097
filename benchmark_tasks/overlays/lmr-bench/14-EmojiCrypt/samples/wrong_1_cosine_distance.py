# Wrong: the cosine distance is returned instead of the similarity.


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    """Return the mean cosine similarity of the original and the decrypted levels."""
    originals = [text.split("Value: ", 1)[1] for text in enc_dec_pairs]
    recovered = [text.split("Value: ", 1)[1] for text in enc_dec_pairs.values()]
    encoder = SentenceTransformer("all-MiniLM-L6-v2")
    left = np.asarray(encoder.encode(originals))
    right = np.asarray(encoder.encode(recovered))
    left = left / np.linalg.norm(left, axis=1, keepdims=True)
    right = right / np.linalg.norm(right, axis=1, keepdims=True)
    similarities = 1.0 - (left * right).sum(axis=1)
    with open(output_file, "wb") as handle:
        pickle.dump(similarities.tolist(), handle)
    with open(pairs_file, "wb") as handle:
        pickle.dump(enc_dec_pairs, handle)
    return float(similarities.mean())
