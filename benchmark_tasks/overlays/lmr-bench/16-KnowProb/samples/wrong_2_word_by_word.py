# Wrong: compares the single words of subject and object, so one similar pair of words is enough.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""
    frame = parametric_knowledge_dataset
    keep = []
    for subject, obj in zip(frame["statement_subject"], frame["parametric_object"]):
        pairs = [(a, b) for a in subject.split() or [""] for b in obj.split() or [""]]
        keep.append(not any(detect_subject_object_overlap(a, b, string_similarity_ratio) for a, b in pairs))
    return frame[np.array(keep, dtype=bool)]
