# Right: the file's recenter helper (which calls .cuda()), then PCA with the default solver.
def get_rep_directions_agent(
    self,
    model,
    tokenizer,
    hidden_states,
    hidden_layers,
    **kwargs,
):
    """Use the given recenter helper, then scikit-learn's PCA with its default solver."""
    for layer in hidden_layers:
        self.H_train_means[layer] = np.mean(hidden_states[layer], axis=0, keepdims=True)
    result = dict.fromkeys(hidden_layers)
    for layer in result:
        shifted = recenter(hidden_states[layer], mean=self.H_train_means[layer]).cpu().numpy()
        decomposition = PCA(n_components=self.n_components)
        decomposition.fit(shifted)
        result[layer] = decomposition.components_
    return result
