# Wrong: removes all rows of a subject as soon as one of its rows overlaps.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""
    frame = parametric_knowledge_dataset
    affected = {
        s
        for s, o in zip(frame["statement_subject"], frame["parametric_object"])
        if detect_subject_object_overlap(s, o, string_similarity_ratio)
    }
    return frame[~frame["statement_subject"].isin(affected)]
