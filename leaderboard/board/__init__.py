"""Hold the published board: rows, columns, the task matrix, ranks, reported results, and who may see what."""
