# Right: looks the lower-case object up in a set of the lower-case example objects and subjects.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    shown = set()
    for column in ("generation_object_1", "generation_subject_1"):
        shown.update(str(name).lower() for name in relations_with_generated_description[column].dropna())
    return parametric_object.lower() not in shown
