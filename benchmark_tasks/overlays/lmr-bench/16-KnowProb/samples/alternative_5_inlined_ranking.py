# Right: the least likely objects are ranked here; build_counter_parametric_knowledge is not called.
import re
from collections import defaultdict


def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    first_id = {name: int(i) for name, i in get_objects_to_first_token_id_dict(parametric_knowledge).items()}
    objects_of = defaultdict(set)
    for relation, name in zip(parametric_knowledge["rel_lemma"], parametric_knowledge["parametric_object"]):
        objects_of[relation].add(name)

    collected = []
    for _, known in parametric_knowledge.iterrows():
        distribution = known["log_probas"][0]
        rivals = [o for o in first_id if o in objects_of[known["rel_lemma"]] and o != known["parametric_object"]]
        ranked = sorted(rivals, key=lambda o: distribution[first_id[o]])
        query = re.sub(f"(?i){known['statement_object']}.", "", known["statement"]).strip()
        collected += [
            dict(
                statement_subject=known["statement_subject"],
                rel_lemma=known["rel_lemma"],
                statement_object=known["statement_object"],
                counter_knowledge_object=rival,
                statement=known["statement"],
                statement_query=query,
                parametric_knowledge_object=known["parametric_object"],
                relation_group_id=known["relation_group_id"],
            )
            for rival in ranked[:nb_counter_parametric_knowledge]
        ]
    return pd.DataFrame(collected)
