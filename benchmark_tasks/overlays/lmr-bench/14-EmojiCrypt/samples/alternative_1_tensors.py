# Right: encoder output as tensors, compared pair by pair with PyTorch's cosine similarity.
import torch


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    """Return the mean cosine similarity of the original and the decrypted levels."""
    marker = "Value: "
    model = SentenceTransformer("all-MiniLM-L6-v2")
    sides = []
    for side in (enc_dec_pairs.keys(), enc_dec_pairs.values()):
        levels = [text[text.index(marker) + len(marker) :] for text in side]
        sides.append(model.encode(levels, convert_to_tensor=True, show_progress_bar=False))
    similarities = torch.nn.functional.cosine_similarity(sides[0], sides[1], dim=-1)
    mean_cosine_sim = similarities.mean().item()
    for name, content in ((output_file, similarities.tolist()), (pairs_file, dict(enc_dec_pairs))):
        with open(name, "wb") as file:
            pickle.dump(content, file, protocol=pickle.HIGHEST_PROTOCOL)
    return mean_cosine_sim
