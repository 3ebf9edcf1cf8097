# Wrong: pairs are subtracted again, although the states passed in are differences already.
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
    for index in hidden_layers:
        states = np.asarray(hidden_states[index])
        states = states[: len(states) // 2 * 2]
        states = states[::2] - states[1::2]
        center = states.mean(axis=0, keepdims=True)
        self.H_train_means[index] = center
        reducer = PCA(n_components=self.n_components, svd_solver="full")
        found[index] = reducer.fit(states - center).components_
    return found
