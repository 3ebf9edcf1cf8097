# Right: collects the subjects and objects of each group as sets and counts the rows that hit them.
def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> dict:
    """Count, for each pair of relation groups, the rows of the first that share an entity with the second."""
    members = {}
    columns = parametric_knowledge_dataset[["relation_group_id", "statement_subject", "parametric_object"]]
    for group, subject, obj in columns.itertuples(index=False, name=None):
        members.setdefault(group, []).append((subject, obj))

    subjects = {group: {s for s, _ in pairs} for group, pairs in members.items()}
    objects = {group: {o for _, o in pairs} for group, pairs in members.items()}
    return {
        group: {other: sum(1 for s, o in pairs if s in subjects[other] or o in objects[other]) for other in members}
        for group, pairs in members.items()
    }
