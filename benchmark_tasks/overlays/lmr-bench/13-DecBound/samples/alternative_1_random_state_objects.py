# Right: each task gets a RandomState object seeded from a Generator.
def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    """Give every task its own RandomState object, seeded from a NumPy Generator."""
    rng = np.random.default_rng(seed)

    def one_task(_):
        state = np.random.RandomState(rng.integers(2**32, dtype=np.uint32))
        return generate_x_y(num_samples_per_task, num_dimensions, state, data_type, factor, class_sep)

    tasks = list(map(one_task, range(num_tasks)))
    X_data = np.concatenate([x[None] for x, _ in tasks])
    Y_data = np.concatenate([y[None] for _, y in tasks])
    return X_data, Y_data
