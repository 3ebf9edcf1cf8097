# Wrong: row positions are dropped as index labels, so a shuffled dataset loses the wrong rows.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    subjects = parametric_knowledge_dataset.statement_subject.tolist()
    objects = parametric_knowledge_dataset.parametric_object.tolist()
    unwanted = [
        position
        for position, (subject, generated) in enumerate(zip(subjects, objects))
        if detect_subject_object_overlap(subject, generated, string_similarity_ratio)
    ]
    return parametric_knowledge_dataset.drop(index=unwanted, errors="ignore")
