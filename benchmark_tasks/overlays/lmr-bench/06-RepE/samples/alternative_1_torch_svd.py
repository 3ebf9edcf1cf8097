# Right: recenter as offered, then right singular vectors from torch.linalg.svd, their sign left as it comes.
def get_rep_directions_agent(self, model, tokenizer, hidden_states, hidden_layers, **kwargs):
    """Take the first rows of Vh for each layer."""
    directions = {}
    for layer_index in hidden_layers:
        block = np.asarray(hidden_states[layer_index], dtype=np.float32)
        average = block.mean(0).reshape(1, -1)
        self.H_train_means[layer_index] = average
        shifted = recenter(block, mean=average).cpu().double()
        vh = torch.linalg.svd(shifted, full_matrices=False).Vh
        directions[layer_index] = vh[: self.n_components].numpy()
    return directions
