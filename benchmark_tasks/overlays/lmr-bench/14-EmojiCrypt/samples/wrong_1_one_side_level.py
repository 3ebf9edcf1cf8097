# Wrong: the decrypted side is embedded as a whole description, only the original side as a level.


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    """Return the mean cosine similarity of the original and the decrypted levels."""
    originals = [text.split("Value: ", 1)[1] for text in enc_dec_pairs]
    recovered = list(enc_dec_pairs.values())
    encoder = SentenceTransformer("all-MiniLM-L6-v2")
    left = np.asarray(encoder.encode(originals))
    right = np.asarray(encoder.encode(recovered))
    left = left / np.linalg.norm(left, axis=1, keepdims=True)
    right = right / np.linalg.norm(right, axis=1, keepdims=True)
    similarities = (left * right).sum(axis=1)
    with open(output_file, "wb") as handle:
        pickle.dump(similarities.tolist(), handle)
    with open(pairs_file, "wb") as handle:
        pickle.dump(enc_dec_pairs, handle)
    return float(similarities.mean())
