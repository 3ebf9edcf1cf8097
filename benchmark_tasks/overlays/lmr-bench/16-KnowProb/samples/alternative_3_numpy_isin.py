# Right: flattens the two columns into one NumPy array of lower-case strings and counts the matches.
def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    """Return False if a one-shot example used the object as its object or subject."""
    used = relations_with_generated_description.loc[:, ["generation_object_1", "generation_subject_1"]]
    flat = np.array([str(value).lower() for value in used.to_numpy().ravel() if not pd.isna(value)], dtype=object)
    return int(np.count_nonzero(flat == parametric_object.lower())) == 0
