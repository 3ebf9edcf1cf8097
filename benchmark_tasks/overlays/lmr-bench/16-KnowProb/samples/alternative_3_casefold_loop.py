# Right: walks over the rows and returns at the first example that uses the object.
def _same_entity(left, right):
    return isinstance(left, str) and left.strip().casefold() == right


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    target = parametric_object.strip().casefold()
    examples = relations_with_generated_description[["generation_object_1", "generation_subject_1"]]
    for example_object, example_subject in examples.itertuples(index=False, name=None):
        if _same_entity(example_object, target) or _same_entity(example_subject, target):
            return False
    return True
