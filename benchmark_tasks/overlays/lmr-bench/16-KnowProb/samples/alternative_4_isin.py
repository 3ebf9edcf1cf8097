# Right: filters the frame for every pair of groups and counts the rows with isin.
def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> dict:
    """Count, for each pair of relation groups, the rows of the first that share an entity with the second."""
    data = parametric_knowledge_dataset
    by_group = {group: data[data["relation_group_id"] == group] for group in data["relation_group_id"].unique()}
    overlap = {}
    for row_name, rows in by_group.items():
        overlap[row_name] = {}
        for column_name, candidates in by_group.items():
            same_subject = rows["statement_subject"].isin(candidates["statement_subject"])
            same_object = rows["parametric_object"].isin(candidates["parametric_object"])
            overlap[row_name][column_name] = int((same_subject | same_object).sum())
    return overlap
