# Wrong: maps objects to token ids within the relation only, not over all rows of the dataset.
def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """Return the least likely counter-objects of the same relation for every parametric knowledge row."""
    units = []
    for e in parametric_knowledge.itertuples():
        same_relation = parametric_knowledge[parametric_knowledge.rel_lemma == e.rel_lemma]
        units += build_counter_parametric_knowledge(
            statement_subject=e.statement_subject,
            rel_lemma=e.rel_lemma,
            statement_object=e.statement_object,
            relation_group_id=e.relation_group_id,
            parametric_object=e.parametric_object,
            parametric_object_first_token_log_probas_distribution=e.log_probas[0],
            statement=e.statement,
            nb_counter_parametric_knowledge=nb_counter_parametric_knowledge,
            all_dataset_objects_to_their_first_token_id=get_objects_to_first_token_id_dict(same_relation),
            parametric_knowledge_rel=same_relation,
        )
    return pd.DataFrame(units)
