# Right: seeds spawned from a SeedSequence, preallocated arrays, labels stored as floats.
def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    """Fill two preallocated arrays; the seeds of the tasks are spawned from `seed`."""
    X_data = np.empty((num_tasks, num_samples_per_task, num_dimensions))
    Y_data = np.empty((num_tasks, num_samples_per_task))
    states = np.random.SeedSequence(seed).generate_state(num_tasks)
    for index, state in enumerate(states):
        X_data[index], Y_data[index] = generate_x_y(
            num_samples=num_samples_per_task,
            num_dimensions=num_dimensions,
            seed=int(state),
            data_type=data_type,
            factor=factor,
            class_sep=class_sep,
        )
    return X_data, Y_data
