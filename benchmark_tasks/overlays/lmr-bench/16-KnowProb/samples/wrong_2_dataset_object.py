# Wrong: compares the subject with the ParaRel object of the statement instead of the parametric object.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""
    frame = parametric_knowledge_dataset
    overlaps = [
        detect_subject_object_overlap(s, o, string_similarity_ratio)
        for s, o in zip(frame["statement_subject"], frame["statement_object"])
    ]
    return frame[~np.array(overlaps, dtype=bool)]
