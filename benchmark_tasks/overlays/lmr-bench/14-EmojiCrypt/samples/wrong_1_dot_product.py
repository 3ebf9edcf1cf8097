# Wrong: dot products of an encoder whose vectors are not of unit length.


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    """Return the mean cosine similarity of the original and the decrypted levels."""
    originals = [text.split("Value: ", 1)[1] for text in enc_dec_pairs]
    recovered = [text.split("Value: ", 1)[1] for text in enc_dec_pairs.values()]
    encoder = SentenceTransformer("paraphrase-MiniLM-L6-v2")
    left = np.asarray(encoder.encode(originals))
    right = np.asarray(encoder.encode(recovered))
    similarities = (left * right).sum(axis=1)
    with open(output_file, "wb") as handle:
        pickle.dump(similarities.tolist(), handle)
    with open(pairs_file, "wb") as handle:
        pickle.dump(enc_dec_pairs, handle)
    return float(similarities.mean())
