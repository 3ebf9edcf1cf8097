# Wrong: a row also goes when the subject resembles the gold object, not only the parametric object.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    keep = [
        not any(detect_subject_object_overlap(subject, obj, string_similarity_ratio) for obj in objects)
        for subject, *objects in zip(
            parametric_knowledge_dataset.statement_subject,
            parametric_knowledge_dataset.parametric_object,
            parametric_knowledge_dataset.statement_object,
        )
    ]
    return parametric_knowledge_dataset[keep]
