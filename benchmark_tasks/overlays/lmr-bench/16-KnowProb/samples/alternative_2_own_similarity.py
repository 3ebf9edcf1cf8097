# Right: writes the containment and similarity test itself and selects rows by position.
def _too_similar(subject, obj, threshold):
    lowered_subject, lowered_object = subject.lower(), obj.lower()
    contained = lowered_object in lowered_subject or lowered_subject in lowered_object
    return contained or JaroWinkler.similarity(subject, obj) >= threshold


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""
    pairs = zip(parametric_knowledge_dataset["statement_subject"], parametric_knowledge_dataset["parametric_object"])
    keep = [i for i, pair in enumerate(pairs) if not _too_similar(*pair, string_similarity_ratio)]
    return parametric_knowledge_dataset.iloc[keep]
