# Wrong: compares the Jaro-Winkler distance, not the similarity, with the threshold.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""

    def overlaps(subject, obj):
        a, b = subject.lower(), obj.lower()
        return a in b or b in a or JaroWinkler.normalized_distance(subject, obj) >= string_similarity_ratio

    frame = parametric_knowledge_dataset
    keep = [not overlaps(s, o) for s, o in zip(frame["statement_subject"], frame["parametric_object"])]
    return frame[np.array(keep, dtype=bool)]
