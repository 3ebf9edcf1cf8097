# Wrong: one PCA on the states of all layers together gives every layer the same direction.
def get_rep_directions_agent(
    self,
    model,
    tokenizer,
    hidden_states,
    hidden_layers,
    **kwargs,
):
    """Fit a single PCA on the stacked layers."""
    for layer in hidden_layers:
        self.H_train_means[layer] = np.mean(hidden_states[layer], axis=0, keepdims=True)
    stacked = np.vstack([hidden_states[layer] - self.H_train_means[layer] for layer in hidden_layers])
    shared = PCA(n_components=self.n_components).fit(stacked).components_
    return {layer: shared for layer in hidden_layers}
