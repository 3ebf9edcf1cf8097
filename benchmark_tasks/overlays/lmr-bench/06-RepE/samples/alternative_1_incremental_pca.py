# Right: scikit-learn's IncrementalPCA in a single batch on the raw states; the mean is the one that it found.
from sklearn.decomposition import IncrementalPCA


def get_rep_directions_agent(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    """Let the estimator centre the states and read both results from it."""
    found = {}
    for number in hidden_layers:
        states = np.asarray(hidden_states[number], dtype=np.float64)
        estimator = IncrementalPCA(n_components=self.n_components, batch_size=len(states)).fit(states)
        self.H_train_means[number] = estimator.mean_[np.newaxis, :]
        found[number] = estimator.components_
    return found
