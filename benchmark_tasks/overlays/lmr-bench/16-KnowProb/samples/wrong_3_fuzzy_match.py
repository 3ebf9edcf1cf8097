# Wrong: rejects objects that are merely spelled like an example, by a difflib ratio of 0.8.
from difflib import SequenceMatcher


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    frame = relations_with_generated_description
    names = pd.concat([frame["generation_object_1"], frame["generation_subject_1"]]).dropna()
    target = parametric_object.lower()
    return not any(SequenceMatcher(None, target, name.lower()).ratio() >= 0.8 for name in names)
