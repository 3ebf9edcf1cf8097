# Right: one batch per side with a sentence encoder, and the diagonal of scikit-learn's similarity matrix.


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    """Return the mean cosine similarity of the original and the decrypted levels."""
    if not enc_dec_pairs:
        return 0.0
    originals = [description.split("Value: ", 1)[1] for description in enc_dec_pairs.keys()]
    decrypted = [description.split("Value: ", 1)[1] for description in enc_dec_pairs.values()]
    encoder = SentenceTransformer("all-MiniLM-L6-v2")
    similarities = np.diag(cosine_similarity(encoder.encode(originals), encoder.encode(decrypted)))
    mean_cosine_sim = float(np.mean(similarities))
    with open(pairs_file, "wb") as handle:
        pickle.dump(enc_dec_pairs, handle)
    with open(output_file, "wb") as handle:
        pickle.dump(mean_cosine_sim, handle)
    return mean_cosine_sim
