# Right: compares both columns through pandas string methods and reports whether any row is equal.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    wanted = parametric_object.lower()
    frame = relations_with_generated_description
    as_object = frame["generation_object_1"].str.lower().eq(wanted)
    as_subject = frame["generation_subject_1"].str.lower().eq(wanted)
    return not bool((as_object | as_subject).any())
