# Wrong: draws the counter-objects of the relation at random instead of by rising probability.
def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """Return the least likely counter-objects of the same relation for every parametric knowledge row."""
    generator = np.random.default_rng(0)
    token_ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    vocabulary_size = len(parametric_knowledge.log_probas.iloc[0][0]) if len(parametric_knowledge) else 0
    units = []
    for e in parametric_knowledge.itertuples():
        units += build_counter_parametric_knowledge(
            statement_subject=e.statement_subject,
            rel_lemma=e.rel_lemma,
            statement_object=e.statement_object,
            relation_group_id=e.relation_group_id,
            parametric_object=e.parametric_object,
            parametric_object_first_token_log_probas_distribution=generator.random(vocabulary_size),
            statement=e.statement,
            nb_counter_parametric_knowledge=nb_counter_parametric_knowledge,
            all_dataset_objects_to_their_first_token_id=token_ids,
            parametric_knowledge_rel=parametric_knowledge[parametric_knowledge.rel_lemma == e.rel_lemma],
        )
    return pd.DataFrame(units)
