# Wrong: counts each pair of groups in one direction only and mirrors the number.
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
            if other in counts and group in counts[other]:
                counts[group][other] = counts[other][group]
                continue
            hit = rows["statement_subject"].isin(others["statement_subject"])
            hit |= rows["parametric_object"].isin(others["parametric_object"])
            counts[group][other] = int(hit.sum())
    return counts
