# Wrong: the directions of smallest variance are returned.
def get_rep_directions_agent(
    self,
    model,
    tokenizer,
    hidden_states,
    hidden_layers,
    **kwargs,
):
    """Read the principal directions off the right singular vectors of the centred data."""
    directions = {}
    for layer in hidden_layers:
        data = np.asarray(hidden_states[layer], dtype=np.float64)
        self.H_train_means[layer] = np.mean(data, axis=0)[np.newaxis]
        _, _, right_vectors = np.linalg.svd(data - self.H_train_means[layer], full_matrices=False)
        directions[layer] = right_vectors[::-1][: self.n_components]
    return directions
