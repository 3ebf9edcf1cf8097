# Right: a boolean mask from detect_subject_object_overlap; the remaining rows keep their index.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""
    columns = parametric_knowledge_dataset[["statement_subject", "parametric_object"]]
    overlaps = np.array(
        [detect_subject_object_overlap(subject, obj, string_similarity_ratio) for subject, obj in columns.to_numpy()],
        dtype=bool,
    )
    return parametric_knowledge_dataset[~overlaps].copy()
