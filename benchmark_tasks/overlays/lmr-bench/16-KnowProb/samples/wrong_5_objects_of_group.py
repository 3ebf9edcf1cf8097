# Wrong: takes counter-objects from the relation group instead of the same relation.
def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """Return the least likely counter-objects of the same relation for every parametric knowledge row."""
    token_ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    units = []
    for e in parametric_knowledge.itertuples():
        units += build_counter_parametric_knowledge(
            statement_subject=e.statement_subject,
            rel_lemma=e.rel_lemma,
            statement_object=e.statement_object,
            relation_group_id=e.relation_group_id,
            parametric_object=e.parametric_object,
            parametric_object_first_token_log_probas_distribution=e.log_probas[0],
            statement=e.statement,
            nb_counter_parametric_knowledge=nb_counter_parametric_knowledge,
            all_dataset_objects_to_their_first_token_id=token_ids,
            parametric_knowledge_rel=parametric_knowledge[
                parametric_knowledge.relation_group_id == e.relation_group_id
            ],
        )
    return pd.DataFrame(units)
