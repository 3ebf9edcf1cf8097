# Wrong: each feature is divided by its standard deviation first, so the PCA is one of correlations.
from sklearn.preprocessing import StandardScaler


def get_rep_directions_agent(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    """Standardise the features of each layer and fit."""
    directions = {}
    for layer in hidden_layers:
        scaler = StandardScaler()
        scaled = scaler.fit_transform(np.asarray(hidden_states[layer], dtype=np.float64))
        self.H_train_means[layer] = scaler.mean_.reshape(1, -1)
        directions[layer] = PCA(n_components=self.n_components).fit(scaled).components_
    return directions
