# Wrong: every row of a subject goes as soon as one of its rows overlaps, also rows with other objects.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    table = parametric_knowledge_dataset
    tainted = {
        subject
        for subject, generated in zip(table["statement_subject"], table["parametric_object"])
        if detect_subject_object_overlap(subject, generated, string_similarity_ratio)
    }
    return table[~table["statement_subject"].isin(tainted)]
