# Wrong: one large dataset is generated and cut into tasks, so the tasks are not separate datasets.
def generate_tasks(num_tasks, num_samples_per_task, num_dimensions, seed, data_type="linear", factor=0.5, class_sep=2):
    """Generate all samples at once and cut them into equal parts."""
    total = num_tasks * num_samples_per_task
    x, y = generate_x_y(total, num_dimensions, seed, data_type=data_type, factor=factor, class_sep=class_sep)
    return x.reshape(num_tasks, num_samples_per_task, -1), y.reshape(num_tasks, num_samples_per_task)
