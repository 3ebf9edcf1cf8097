# Wrong: the keys are positions in hidden_layers, not the layer indices themselves.
def get_rep_directions_agent(
    self,
    model,
    tokenizer,
    hidden_states,
    hidden_layers,
    **kwargs,
):
    """Fit one PCA per layer on the centred hidden states."""
    found = {}
    for place, index in enumerate(hidden_layers):
        states = np.asarray(hidden_states[index])
        center = states.mean(axis=0, keepdims=True)
        self.H_train_means[place] = center
        reducer = PCA(n_components=self.n_components, svd_solver="full")
        found[place] = reducer.fit(states - center).components_
    return found
