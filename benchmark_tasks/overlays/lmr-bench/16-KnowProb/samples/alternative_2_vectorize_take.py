# Right: np.vectorize applies the file's overlap test, and take keeps the other rows and their index.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""
    overlaps = np.vectorize(detect_subject_object_overlap, otypes=[bool])
    flagged = overlaps(
        parametric_knowledge_dataset["statement_subject"].to_numpy(dtype=object),
        parametric_knowledge_dataset["parametric_object"].to_numpy(dtype=object),
        string_similarity_ratio,
    )
    return parametric_knowledge_dataset.take(np.flatnonzero(~flagged))
