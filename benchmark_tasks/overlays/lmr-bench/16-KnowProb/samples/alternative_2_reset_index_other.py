# Right: kept row positions are collected in a loop, and the new dataset gets a fresh index from 0.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    kept_positions = []
    pairs = parametric_knowledge_dataset[["statement_subject", "parametric_object"]].itertuples(index=False, name=None)
    for position, (subject, generated) in enumerate(pairs):
        if not detect_subject_object_overlap(subject, generated, string_similarity_threshold=string_similarity_ratio):
            kept_positions.append(position)
    return parametric_knowledge_dataset.iloc[kept_positions].reset_index(drop=True)
