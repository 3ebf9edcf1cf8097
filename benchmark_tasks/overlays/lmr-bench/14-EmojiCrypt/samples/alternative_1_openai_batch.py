# Right: the paper's OpenAI embeddings with 200 dimensions, all levels in one request.
import os


def _level(description):
    return description.partition("Value: ")[2]


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    """Return the mean cosine similarity of the original and the decrypted levels."""
    pairs = list(enc_dec_pairs.items())
    if len(pairs) == 0:
        return 0.0
    client = OpenAI(api_key=os.environ.get("OPENAI_API_KEY", "[API_KEY]"))
    texts = [_level(original) for original, _ in pairs] + [_level(recovered) for _, recovered in pairs]
    reply = client.embeddings.create(model="text-embedding-3-small", input=texts, dimensions=200)
    vectors = np.array([item.embedding for item in reply.data], dtype=float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = np.sum(vectors[: len(pairs)] * vectors[len(pairs) :], axis=1)

    with open(output_file, "wb") as stream:
        pickle.dump({"similarities": scores.tolist(), "mean": float(scores.mean())}, stream)
    with open(pairs_file, "wb") as stream:
        pickle.dump(pairs, stream)
    return float(scores.mean())
