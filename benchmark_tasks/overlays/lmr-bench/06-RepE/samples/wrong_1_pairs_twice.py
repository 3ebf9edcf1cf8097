# Wrong: differences of neighbouring rows are taken again, although the pipeline passes differences already.
def get_rep_directions_agent(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    """Fit on the differences between the two members of each pair."""
    directions = {}
    for layer in hidden_layers:
        states = np.asarray(hidden_states[layer], dtype=np.float64)
        self.H_train_means[layer] = states.mean(axis=0, keepdims=True)
        usable = len(states) // 2 * 2
        gaps = states[0:usable:2] - states[1:usable:2]
        directions[layer] = PCA(n_components=self.n_components).fit(gaps).components_
    return directions
