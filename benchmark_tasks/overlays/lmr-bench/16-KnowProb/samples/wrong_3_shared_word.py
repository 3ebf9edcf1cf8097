# Wrong: one word in common with an example is enough to reject the object.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    frame = relations_with_generated_description
    words = set()
    for column in ("generation_object_1", "generation_subject_1"):
        for name in frame[column].dropna():
            words.update(name.lower().split())
    return words.isdisjoint(parametric_object.lower().split())
