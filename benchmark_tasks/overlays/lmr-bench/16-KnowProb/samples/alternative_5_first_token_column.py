# Right: reads the distribution from its own column and groups the rows by relation only once.
from itertools import chain


def generate_counter_parametric_knowledge_dataset(
    parametric_knowledge: pd.DataFrame, nb_counter_parametric_knowledge: int
) -> pd.DataFrame:
    """Return the least likely counter-objects of the same relation for every parametric knowledge row."""
    copied = (
        "statement_subject",
        "rel_lemma",
        "statement_object",
        "relation_group_id",
        "parametric_object",
        "statement",
    )
    relations = {name: rows for name, rows in parametric_knowledge.groupby("rel_lemma")}
    first_tokens = get_objects_to_first_token_id_dict(parametric_knowledge)

    def counter_units(record):
        return build_counter_parametric_knowledge(
            **{name: record[name] for name in copied},
            parametric_object_first_token_log_probas_distribution=record[
                "log_probability_parametric_object_first_token"
            ],
            nb_counter_parametric_knowledge=nb_counter_parametric_knowledge,
            all_dataset_objects_to_their_first_token_id=first_tokens,
            parametric_knowledge_rel=relations[record["rel_lemma"]],
        )

    return pd.DataFrame(list(chain.from_iterable(map(counter_units, parametric_knowledge.to_dict("records")))))
