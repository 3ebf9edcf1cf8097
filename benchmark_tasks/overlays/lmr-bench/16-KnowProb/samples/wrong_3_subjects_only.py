# Wrong: looks only at the subjects of the examples and forgets their objects.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    names = relations_with_generated_description["generation_subject_1"].dropna()
    return parametric_object.lower() not in {name.lower() for name in names}
