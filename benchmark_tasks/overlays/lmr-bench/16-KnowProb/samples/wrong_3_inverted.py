# Wrong: returns True when the object is in the prompt.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    frame = relations_with_generated_description
    names = pd.concat([frame["generation_object_1"], frame["generation_subject_1"]]).dropna()
    return parametric_object.lower() in {name.lower() for name in names}
