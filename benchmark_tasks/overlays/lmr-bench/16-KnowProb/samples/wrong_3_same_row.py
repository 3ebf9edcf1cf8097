# Wrong: an object counts as used only if one relation has it as subject and as object at once.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    target = parametric_object.lower()
    frame = relations_with_generated_description
    used = (frame["generation_object_1"].str.lower() == target) & (frame["generation_subject_1"].str.lower() == target)
    return not bool(used.any())
