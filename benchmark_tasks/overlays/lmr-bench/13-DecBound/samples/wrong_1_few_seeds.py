# Wrong: the seeds come from a range of ten, so some tasks are repeated.
def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    """Draw one seed per task from a private generator and stack the datasets."""
    source = np.random.RandomState(seed)
    task_seeds = source.randint(10, size=num_tasks)
    shared = {"data_type": data_type, "factor": factor, "class_sep": class_sep}
    pairs = [generate_x_y(num_samples_per_task, num_dimensions, int(s), **shared) for s in task_seeds]
    xs, ys = zip(*pairs)
    return np.stack(xs, axis=0), np.stack(ys, axis=0)
