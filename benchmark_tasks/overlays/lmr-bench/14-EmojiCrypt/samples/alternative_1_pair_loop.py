# Right: one pair at a time with unit vectors from the encoder; spaces around a level are stripped.
import re
from pathlib import Path


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    """Return the mean cosine similarity of the original and the decrypted levels."""
    encoder = SentenceTransformer("sentence-transformers/all-mpnet-base-v2")

    def embed(description):
        level = re.search(r"Value: (.*)", description, flags=re.DOTALL).group(1).strip()
        return np.asarray(encoder.encode(level, normalize_embeddings=True))

    results = {}
    for original, recovered in enc_dec_pairs.items():
        results[original] = float(embed(original) @ embed(recovered))
    Path(output_file).write_bytes(pickle.dumps(results))
    Path(pairs_file).write_bytes(pickle.dumps(enc_dec_pairs))
    return sum(results.values()) / len(results) if results else 0.0
