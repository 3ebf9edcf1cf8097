# Right: returns the helper's columns and, in addition, those that the docstring lists.
def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """Return the least likely counter-objects of the same relation for every parametric knowledge row."""
    token_ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    table = []
    for row in parametric_knowledge.to_dict(orient="records"):
        arguments = {
            "parametric_object": row["parametric_object"],
            "parametric_object_first_token_log_probas_distribution": row["log_probas"][0],
            "nb_counter_parametric_knowledge": nb_counter_parametric_knowledge,
            "all_dataset_objects_to_their_first_token_id": token_ids,
            "parametric_knowledge_rel": parametric_knowledge[parametric_knowledge.rel_lemma == row["rel_lemma"]],
        }
        for name in ("statement_subject", "rel_lemma", "statement_object", "relation_group_id", "statement"):
            arguments[name] = row[name]
        for unit in build_counter_parametric_knowledge(**arguments):
            table.append({**unit, **arguments, "model_output_tokens": row.get("model_output_tokens")})
    return pd.DataFrame(table)
