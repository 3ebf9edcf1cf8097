# Wrong: the ratio bounds the Jaro-Winkler distance, so rows with a similarity of 0.2 are removed as well.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    def too_close(subject, generated):
        if subject.lower() in generated.lower() or generated.lower() in subject.lower():
            return True
        return 1 - JaroWinkler.normalized_similarity(subject, generated) <= string_similarity_ratio

    subjects, objects = parametric_knowledge_dataset.statement_subject, parametric_knowledge_dataset.parametric_object
    return parametric_knowledge_dataset[[not too_close(s, o) for s, o in zip(subjects, objects)]]
