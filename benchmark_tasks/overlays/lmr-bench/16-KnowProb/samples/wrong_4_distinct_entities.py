# Wrong: counts distinct shared subjects and objects instead of examples.
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
            shared_subjects = set(rows["statement_subject"]) & set(others["statement_subject"])
            shared_objects = set(rows["parametric_object"]) & set(others["parametric_object"])
            counts[group][other] = len(shared_subjects) + len(shared_objects)
    return counts
