# Right: the POT library's exact solver on the rectangular cost matrix of the two sentences.
import ot


def word_mover_score(ref_embedding, ref_idf, ref_tokens, hyp_embedding, hyp_idf, hyp_tokens):
    """Return one minus the word mover's distance of each pair."""

    def is_word(token):
        return not (token in set(string.punctuation) or "##" in token)

    def encode(layers, idf, tokens):
        select = torch.tensor([is_word(token) for token in tokens])
        layers = layers[-5:, : len(tokens)][:, select.to(layers.device)]
        layers = layers / layers.norm(p=2, dim=-1, keepdim=True)
        vectors = torch.cat([layers.min(0).values, layers.mean(0), layers.max(0).values], dim=1)
        vectors = vectors / vectors.norm(p=2, dim=1, keepdim=True)
        weights = idf[: len(tokens)][select.to(idf.device)].double()
        return vectors.double(), (weights / weights.sum().clamp(min=1e-12)).cpu().numpy()

    preds = []
    for index in range(len(ref_tokens)):
        left, left_weights = encode(ref_embedding[:, index], ref_idf[index], ref_tokens[index])
        right, right_weights = encode(hyp_embedding[:, index], hyp_idf[index], hyp_tokens[index])
        squared = torch.cdist(left, right).pow(2).cpu().numpy()
        no_mass = left_weights.sum() == 0 and right_weights.sum() == 0
        preds.append(1.0 if no_mass else 1 - float(ot.emd2(left_weights, right_weights, squared)))
    return preds
