# Wrong: compares the lower-case parametric object with the examples in their original case.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    frame = relations_with_generated_description
    names = set(frame["generation_object_1"]) | set(frame["generation_subject_1"])
    return parametric_object not in names
