# Right: the helper's rows are kept, and the further columns that the docstring lists are added to them.
def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """Build the counter-knowledge with the helper's columns and those of the docstring."""
    token_ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    rows = []
    for element in parametric_knowledge.to_dict(orient="records"):
        same_relation = parametric_knowledge.loc[parametric_knowledge["rel_lemma"].eq(element["rel_lemma"])]
        arguments = {
            name: element[name]
            for name in (
                "statement_subject",
                "rel_lemma",
                "statement_object",
                "relation_group_id",
                "parametric_object",
                "statement",
            )
        }
        arguments["parametric_object_first_token_log_probas_distribution"] = element["log_probas"][0]
        arguments["nb_counter_parametric_knowledge"] = nb_counter_parametric_knowledge
        arguments["all_dataset_objects_to_their_first_token_id"] = token_ids
        arguments["parametric_knowledge_rel"] = same_relation
        extra = {**arguments, "model_output_tokens": element.get("model_output_tokens")}
        rows.extend({**extra, **unit} for unit in build_counter_parametric_knowledge(**arguments))
    return pd.DataFrame(rows)
