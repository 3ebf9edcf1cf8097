# Wrong: objects are ranked by the distribution of the last generated token instead of the first.
def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    knowledge = parametric_knowledge
    ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    units = []
    for item in knowledge.to_dict(orient="records"):
        relation = parametric_knowledge[parametric_knowledge.rel_lemma == item["rel_lemma"]]
        found = build_counter_parametric_knowledge(
            statement_subject=item["statement_subject"],
            rel_lemma=item["rel_lemma"],
            statement_object=item["statement_object"],
            relation_group_id=item["relation_group_id"],
            parametric_object=item["parametric_object"],
            parametric_object_first_token_log_probas_distribution=item["log_probas"][-1],
            statement=item["statement"],
            nb_counter_parametric_knowledge=nb_counter_parametric_knowledge,
            all_dataset_objects_to_their_first_token_id=ids,
            parametric_knowledge_rel=relation,
        )
        units.extend(found)
    return pd.DataFrame(units)
