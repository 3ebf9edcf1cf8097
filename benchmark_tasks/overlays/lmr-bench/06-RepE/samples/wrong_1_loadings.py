# Wrong: components are multiplied by the root of their variance, so they do not have length one.
def get_rep_directions_agent(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    """Scale each component by the spread along it."""
    directions = {}
    for layer in hidden_layers:
        states = np.asarray(hidden_states[layer], dtype=np.float64)
        self.H_train_means[layer] = states.mean(axis=0, keepdims=True)
        fitted = PCA(n_components=self.n_components).fit(states)
        directions[layer] = fitted.components_ * np.sqrt(fitted.explained_variance_)[:, None]
    return directions
