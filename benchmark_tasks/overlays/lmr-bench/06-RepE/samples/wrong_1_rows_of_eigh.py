# Wrong: takes rows of the matrix from np.linalg.eigh, although its eigenvectors are the columns.
def get_rep_directions_agent(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    """Use the eigenvectors of the covariance."""
    directions = {}
    for layer in hidden_layers:
        states = np.asarray(hidden_states[layer], dtype=np.float64)
        centre = states.mean(axis=0, keepdims=True)
        self.H_train_means[layer] = centre
        strength, basis = np.linalg.eigh(np.cov((states - centre).T))
        order = np.argsort(strength)[::-1]
        directions[layer] = basis[order[: self.n_components]]
    return directions
