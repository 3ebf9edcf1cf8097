# Right: eigenvectors of the covariance through torch.linalg.eigh in double precision.
def leading_axes(samples, count):
    """Mean and leading eigenvectors (as rows) of the covariance of the samples."""
    average = samples.mean(dim=0, keepdim=True)
    centred = samples - average
    _, vectors = torch.linalg.eigh(centred.mT @ centred)
    return average.numpy(), vectors.flip(-1)[:, :count].mT.numpy()


def get_rep_directions_agent(
    self,
    model,
    tokenizer,
    hidden_states,
    hidden_layers,
    **kwargs,
):
    """Eigenvectors of each layer's covariance matrix, largest eigenvalue first."""
    directions = {}
    for layer in hidden_layers:
        samples = torch.as_tensor(hidden_states[layer]).detach().cpu().double()
        self.H_train_means[layer], directions[layer] = leading_axes(samples, self.n_components)
    return directions
