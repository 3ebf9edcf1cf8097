# Right: SentenceTransformer.similarity_pairwise compares the two lists of embeddings, encoded as tensors.
from pathlib import Path


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    originals = [key.split("Value: ", 1)[-1].strip() for key in enc_dec_pairs.keys()]
    recovered = [value.split("Value: ", 1)[-1].strip() for value in enc_dec_pairs.values()]
    Path(pairs_file).write_bytes(pickle.dumps(enc_dec_pairs))
    if len(originals) == 0:
        return float("nan")

    encoder = SentenceTransformer("sentence-transformers/all-MiniLM-L6-v2")
    left = encoder.encode(originals, convert_to_tensor=True)
    right = encoder.encode(recovered, convert_to_tensor=True)
    scores = encoder.similarity_pairwise(left, right)

    report = {"cosine_similarities": scores.tolist(), "mean_cosine_similarity": scores.mean().item()}
    Path(output_file).write_bytes(pickle.dumps(report))
    return report["mean_cosine_similarity"]
