# Wrong: rows that repeat a subject and object under another relation are removed along with the overlaps.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    table = parametric_knowledge_dataset
    keep = [
        not detect_subject_object_overlap(subject, generated, string_similarity_ratio)
        for subject, generated in zip(table["statement_subject"], table["parametric_object"])
    ]
    return table[keep].drop_duplicates(subset=["statement_subject", "parametric_object"])
