# Wrong: the mean is taken after centring, so H_train_means holds zeros instead of the mean of the states.
def get_rep_directions_agent(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    """Centre the states, then store the mean and fit."""
    directions = {}
    for layer in hidden_layers:
        states = np.asarray(hidden_states[layer], dtype=np.float64)
        states = states - states.mean(axis=0)
        self.H_train_means[layer] = states.mean(axis=0, keepdims=True)
        directions[layer] = PCA(n_components=self.n_components).fit(states).components_
    return directions
