# Right: applies the helper along the rows and joins one small frame per row, with named columns.
def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """Return the least likely counter-objects of the same relation for every parametric knowledge row."""
    columns = [
        "statement_subject",
        "rel_lemma",
        "statement_object",
        "counter_knowledge_object",
        "statement",
        "statement_query",
        "parametric_knowledge_object",
        "relation_group_id",
    ]
    token_ids = get_objects_to_first_token_id_dict(parametric_knowledge)

    def frame_for(position):
        e = parametric_knowledge.iloc[position]
        units = build_counter_parametric_knowledge(
            e.statement_subject,
            e.rel_lemma,
            e.statement_object,
            e.relation_group_id,
            e.parametric_object,
            list(e.log_probas[0]),
            e.statement,
            nb_counter_parametric_knowledge,
            token_ids,
            parametric_knowledge.query("rel_lemma == @e.rel_lemma"),
        )
        return pd.DataFrame(units, columns=columns)

    parts = [frame_for(i) for i in tqdm(range(len(parametric_knowledge)), desc="Counter-parametric knowledge")]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
