# Wrong: a subject or object that is part of a longer one in the other group counts as the same.
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
            hits = 0
            for s, o in zip(rows["statement_subject"], rows["parametric_object"]):
                in_subjects = any(s in name for name in others["statement_subject"])
                in_objects = any(o in name for name in others["parametric_object"])
                hits += in_subjects or in_objects
            counts[group][other] = int(hits)
    return counts
