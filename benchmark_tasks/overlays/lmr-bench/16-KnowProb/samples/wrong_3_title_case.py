# Wrong: restores the case with title(), which misses names such as BNP Paribas and USA Network.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    frame = relations_with_generated_description
    names = set(frame["generation_object_1"]).union(frame["generation_subject_1"])
    return parametric_object.title() not in names
