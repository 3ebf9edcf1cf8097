# Wrong: counts pairs of matching rows, so a row counts once for each of its matches.
def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> dict:
    """Count, for each pair of relation groups, the rows of the first that share an entity with the second."""
    frame = parametric_knowledge_dataset
    groups = frame["relation_group_id"].unique()
    counts = {}
    for group in groups:
        counts[group] = {}
        rows = frame[frame["relation_group_id"] == group]
        for other in groups:
            others = frame[frame["relation_group_id"] == other]
            total = 0
            for s, o in zip(rows["statement_subject"], rows["parametric_object"]):
                total += int(((others["statement_subject"] == s) | (others["parametric_object"] == o)).sum())
            counts[group][other] = total
    return counts
