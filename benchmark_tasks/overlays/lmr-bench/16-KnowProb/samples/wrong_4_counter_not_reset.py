# Wrong: the counter is not reset between the other groups, so the numbers add up along a row.
def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> dict:
    """Count, for each pair of relation groups, the rows of the first that share an entity with the second."""
    frame = parametric_knowledge_dataset
    groups = frame["relation_group_id"].unique()
    counts = {}
    for group in groups:
        counts[group] = {}
        rows = frame[frame["relation_group_id"] == group]
        number = 0
        for other in groups:
            others = frame[frame["relation_group_id"] == other]
            hit = rows["statement_subject"].isin(others["statement_subject"])
            hit |= rows["parametric_object"].isin(others["parametric_object"])
            number += int(hit.sum())
            counts[group][other] = number
    return counts
