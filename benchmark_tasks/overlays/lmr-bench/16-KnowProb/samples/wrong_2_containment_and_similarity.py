# Wrong: removes a row only if one string contains the other and the similarity is high as well.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""

    def overlaps(subject, obj):
        a, b = subject.lower(), obj.lower()
        similar = JaroWinkler.normalized_similarity(subject, obj) >= string_similarity_ratio
        return (a in b or b in a) and similar

    frame = parametric_knowledge_dataset
    keep = [not overlaps(s, o) for s, o in zip(frame["statement_subject"], frame["parametric_object"])]
    return frame[np.array(keep, dtype=bool)]
