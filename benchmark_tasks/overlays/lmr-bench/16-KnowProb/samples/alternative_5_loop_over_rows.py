# Right: loops over the rows, calls the helper for each and builds one frame from all its records.
def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """Return the least likely counter-objects of the same relation for every parametric knowledge row."""
    token_of_object = get_objects_to_first_token_id_dict(parametric_knowledge)
    collected = []
    for _, row in parametric_knowledge.iterrows():
        same_relation = parametric_knowledge[parametric_knowledge["rel_lemma"] == row["rel_lemma"]]
        collected.extend(
            build_counter_parametric_knowledge(
                statement_subject=row["statement_subject"],
                rel_lemma=row["rel_lemma"],
                statement_object=row["statement_object"],
                relation_group_id=row["relation_group_id"],
                parametric_object=row["parametric_object"],
                parametric_object_first_token_log_probas_distribution=row["log_probas"][0],
                statement=row["statement"],
                nb_counter_parametric_knowledge=nb_counter_parametric_knowledge,
                all_dataset_objects_to_their_first_token_id=token_of_object,
                parametric_knowledge_rel=same_relation,
            )
        )
    return pd.DataFrame(collected)
