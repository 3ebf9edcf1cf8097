# Wrong: each cell counts the overlap with all other groups together, not with its own column's group.
def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> dict:
    """Count, for each pair of relation groups, the rows of the first that share an entity with the second."""
    frame = parametric_knowledge_dataset
    groups = frame["relation_group_id"].unique()
    counts = {}
    for group in groups:
        rows = frame[frame["relation_group_id"] == group]
        rest = frame[frame["relation_group_id"] != group]
        hit = rows["statement_subject"].isin(rest["statement_subject"])
        hit |= rows["parametric_object"].isin(rest["parametric_object"])
        counts[group] = {other: len(rows) if other == group else int(hit.sum()) for other in groups}
    return counts
