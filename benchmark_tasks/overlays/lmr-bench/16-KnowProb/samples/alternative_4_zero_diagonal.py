# Right: compares different groups only, so a group's overlap with itself is zero.
def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> dict:
    """Count, for each pair of relation groups, the rows of the first that share an entity with the second."""
    groups = dict(tuple(parametric_knowledge_dataset.groupby("relation_group_id", sort=False)))

    def shared_rows(left, right):
        subject_hit = np.isin(left["statement_subject"].to_numpy(object), list(set(right["statement_subject"])))
        object_hit = np.isin(left["parametric_object"].to_numpy(object), list(set(right["parametric_object"])))
        return int(np.logical_or(subject_hit, object_hit).sum())

    return {
        name: {other: 0 if other == name else shared_rows(frame, groups[other]) for other in groups}
        for name, frame in groups.items()
    }
