# Wrong: drops repeated pairs of subject and object before counting, so some examples are not counted.
def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> dict:
    """Count, for each pair of relation groups, the rows of the first that share an entity with the second."""
    parametric_knowledge_dataset = parametric_knowledge_dataset.drop_duplicates(
        ["relation_group_id", "statement_subject", "parametric_object"]
    )
    frame = parametric_knowledge_dataset
    groups = frame["relation_group_id"].unique()
    counts = {}
    for group in groups:
        counts[group] = {}
        rows = frame[frame["relation_group_id"] == group]
        for other in groups:
            others = frame[frame["relation_group_id"] == other]
            hit = rows["statement_subject"].isin(others["statement_subject"])
            hit |= rows["parametric_object"].isin(others["parametric_object"])
            counts[group][other] = int(hit.sum())
    return counts
