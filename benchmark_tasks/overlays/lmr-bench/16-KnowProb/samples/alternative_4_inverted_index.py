# Right: maps every entity to the groups that contain it and adds each row to those groups.
from collections import defaultdict


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset: pd.DataFrame) -> dict:
    """Count, for each pair of relation groups, the rows of the first that share an entity with the second."""
    data = parametric_knowledge_dataset
    rows = list(zip(data["relation_group_id"], data["statement_subject"], data["parametric_object"]))
    groups_of_subject, groups_of_object = defaultdict(set), defaultdict(set)
    for group, subject, obj in rows:
        groups_of_subject[subject].add(group)
        groups_of_object[obj].add(group)

    names = dict.fromkeys(group for group, _, _ in rows)
    matrix = {group: dict.fromkeys(names, 0) for group in names}
    for group, subject, obj in rows:
        for other in groups_of_subject[subject] | groups_of_object[obj]:
            matrix[group][other] += 1
    return matrix
