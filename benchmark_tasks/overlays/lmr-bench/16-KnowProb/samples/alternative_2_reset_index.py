# Right: the same filter in a list comprehension; the result gets a new index from zero.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""
    frame = parametric_knowledge_dataset
    keep = pd.Series(
        [
            not detect_subject_object_overlap(s, o, string_similarity_threshold=string_similarity_ratio)
            for s, o in zip(frame["statement_subject"].tolist(), frame["parametric_object"].tolist())
        ],
        index=frame.index,
        dtype=bool,
    )
    return frame.loc[keep].reset_index(drop=True)
