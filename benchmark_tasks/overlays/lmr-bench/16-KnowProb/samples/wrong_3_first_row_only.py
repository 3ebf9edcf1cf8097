# Wrong: checks only the example of the first relation.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    first = relations_with_generated_description.iloc[0]
    names = (first["generation_object_1"], first["generation_subject_1"])
    return parametric_object.lower() not in [str(name).lower() for name in names]
