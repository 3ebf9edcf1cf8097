# Wrong: tests only whether the object contains the subject, not whether the subject contains the object.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""

    def overlaps(subject, obj):
        if subject.lower() in obj.lower():
            return True
        return JaroWinkler.normalized_similarity(subject, obj) >= string_similarity_ratio

    frame = parametric_knowledge_dataset
    keep = [not overlaps(s, o) for s, o in zip(frame["statement_subject"], frame["parametric_object"])]
    return frame[np.array(keep, dtype=bool)]
