# Right: collects the index labels of overlapping rows in a loop and drops them.
def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    """Return the rows whose subject and parametric object do not overlap."""
    unwanted = []
    for row in parametric_knowledge_dataset.itertuples():
        if detect_subject_object_overlap(row.statement_subject, row.parametric_object, string_similarity_ratio):
            unwanted.append(row.Index)
    return parametric_knowledge_dataset.drop(index=unwanted)
