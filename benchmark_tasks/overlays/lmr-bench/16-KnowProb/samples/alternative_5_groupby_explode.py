# Right: works relation by relation, explodes the lists of units and restores the original row order.
def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    ids = get_objects_to_first_token_id_dict(parametric_knowledge)
    numbered = parametric_knowledge.assign(_position=range(len(parametric_knowledge)))
    units = [[] for _ in range(len(numbered))]
    for lemma, members in numbered.groupby("rel_lemma", sort=False):
        for member in members.itertuples(index=False):
            position = members.columns.get_loc("_position")
            units[member[position]] = build_counter_parametric_knowledge(
                member.statement_subject,
                lemma,
                member.statement_object,
                member.relation_group_id,
                member.parametric_object,
                member.log_probability_parametric_object_first_token,
                member.statement,
                nb_counter_parametric_knowledge,
                ids,
                members,
            )
    exploded = pd.Series(units, dtype=object).explode().dropna()
    return pd.DataFrame.from_records(exploded.tolist())
