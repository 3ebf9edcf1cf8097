# Wrong: the in operator on a pandas Series searches the index, so no object is ever found.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    target = parametric_object.lower()
    for column in ("generation_object_1", "generation_subject_1"):
        if target in relations_with_generated_description[column].str.lower():
            return False
    return True
