# Right: an object must be in both columns to count as used, as in the published code; one column alone is open.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    frame = relations_with_generated_description
    objects = {name.lower() for name in frame["generation_object_1"].dropna()}
    subjects = {name.lower() for name in frame["generation_subject_1"].dropna()}
    target = parametric_object.lower()
    return target not in objects or target not in subjects
