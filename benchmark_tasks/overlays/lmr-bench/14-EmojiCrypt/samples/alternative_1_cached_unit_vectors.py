# Right: each distinct level is encoded once as a unit vector, so a pair's similarity is the dot product.
import re
from functools import lru_cache
from statistics import fmean


def compute_mean_cosine_similarity(enc_dec_pairs, output_file="cosine_sim_results.pkl", pairs_file="enc_dec_pairs.pkl"):
    encoder = SentenceTransformer("all-mpnet-base-v2")

    @lru_cache(maxsize=None)
    def unit_vector(level):
        return encoder.encode(level, normalize_embeddings=True, show_progress_bar=False)

    def level_of(description):
        found = re.search(r"Value: (.*)", description, flags=re.DOTALL)
        return found.group(1) if found else description

    per_pair = {}
    for before, after in enc_dec_pairs.items():
        per_pair[before] = float(np.dot(unit_vector(level_of(before)), unit_vector(level_of(after))))
    result = fmean(per_pair.values()) if per_pair else 0.0
    for path, content in ((output_file, per_pair), (pairs_file, enc_dec_pairs)):
        with open(path, "wb") as sink:
            pickle.dump(content, sink)
    return result
