# Wrong: the mean of the first layer is kept and used to centre all later layers.
def get_rep_directions_agent(
    self,
    model,
    tokenizer,
    hidden_states,
    hidden_layers,
    **kwargs,
):
    """Centre every layer by one shared mean."""
    directions = {}
    center = None
    for layer in hidden_layers:
        data = np.asarray(hidden_states[layer], dtype=np.float64)
        if center is None:
            center = data.mean(axis=0, keepdims=True)
        self.H_train_means[layer] = center
        directions[layer] = np.linalg.svd(data - center, full_matrices=False)[2][: self.n_components]
    return directions
