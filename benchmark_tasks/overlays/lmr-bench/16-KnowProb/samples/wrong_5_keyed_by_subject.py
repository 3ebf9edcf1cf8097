# Wrong: distributions are looked up by subject, so a subject with two relations always gets the later one's.
def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    knowledge = parametric_knowledge
    ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    first_step = {s: steps[0] for s, steps in zip(knowledge.statement_subject, knowledge.log_probas)}
    units = []
    for item in knowledge.to_dict(orient="records"):
        relation = parametric_knowledge[parametric_knowledge.rel_lemma == item["rel_lemma"]]
        found = build_counter_parametric_knowledge(
            statement_subject=item["statement_subject"],
            rel_lemma=item["rel_lemma"],
            statement_object=item["statement_object"],
            relation_group_id=item["relation_group_id"],
            parametric_object=item["parametric_object"],
            parametric_object_first_token_log_probas_distribution=first_step[item["statement_subject"]],
            statement=item["statement"],
            nb_counter_parametric_knowledge=nb_counter_parametric_knowledge,
            all_dataset_objects_to_their_first_token_id=ids,
            parametric_knowledge_rel=relation,
        )
        units.extend(found)
    return pd.DataFrame(units)
