# Wrong: seeds are products, so the first task never depends on the seed and seed 0 repeats one task.
def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    """One dataset per task, task i drawn with the seed `seed + i`."""
    features, labels = [], []
    for task in range(num_tasks):
        x, y = generate_x_y(
            num_samples_per_task,
            num_dimensions,
            seed=seed * task,
            data_type=data_type,
            factor=factor,
            class_sep=class_sep,
        )
        features.append(x)
        labels.append(y)
    return np.array(features), np.array(labels)
