# Right: one batched call of OpenAI's text-embedding-3-small with 200 dimensions, as the appendix says.
import os


def _level(description):
    return description.partition("Value: ")[2]


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    """Return the mean cosine similarity of the original and the recovered levels."""
    with open(pairs_file, "wb") as handle:
        pickle.dump(dict(enc_dec_pairs), handle)
    texts = [_level(text) for pair in enc_dec_pairs.items() for text in pair]
    similarities = []
    if texts:
        api = OpenAI(api_key=os.environ.get("OPENAI_API_KEY", "[API_KEY]"))
        reply = api.embeddings.create(model="text-embedding-3-small", input=texts, dimensions=200)
        table = np.asarray([item.embedding for item in reply.data], dtype=np.float64).reshape(len(texts) // 2, 2, -1)
        table /= np.linalg.norm(table, axis=2, keepdims=True)
        similarities = np.sum(table[:, 0] * table[:, 1], axis=1).tolist()
    average = sum(similarities) / len(similarities) if similarities else 0.0
    with open(output_file, "wb") as handle:
        pickle.dump(average, handle)
    return average
