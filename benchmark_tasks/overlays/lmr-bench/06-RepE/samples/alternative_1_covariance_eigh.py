# Right: leading eigenvectors of the covariance from scipy.linalg.eigh, in falling order, as float32 rows.
import scipy.linalg


def leading_axes(states, amount):
    """Return the mean (1, d) and the strongest principal axes (amount, d)."""
    centre = states.mean(axis=0)[None, :]
    spread = (states - centre).T @ (states - centre)
    width = spread.shape[0]
    _, columns = scipy.linalg.eigh(spread, subset_by_index=[width - amount, width - 1])
    axes = columns.T[::-1]
    peak = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(amount), peak])[:, None]
    return centre.astype(np.float32), np.ascontiguousarray(axes, dtype=np.float32)


def get_rep_directions_agent(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    """Solve the eigenvalue problem of each layer."""
    pairs = {key: leading_axes(np.array(hidden_states[key], float), self.n_components) for key in hidden_layers}
    self.H_train_means.update({key: centre for key, (centre, _) in pairs.items()})
    return {key: axes for key, (_, axes) in pairs.items()}
