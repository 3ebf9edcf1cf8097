# Right: JaroWinkler.similarity and case-blind containment decide here; the helper is not called.
def _alike(subject, generated, threshold):
    shorter, longer = sorted((subject.lower(), generated.lower()), key=len)
    return shorter in longer or JaroWinkler.similarity(subject, generated) >= threshold


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio=0.8
) -> pd.DataFrame:
    frame = parametric_knowledge_dataset
    distinct = pd.Series(
        [
            not _alike(row["statement_subject"], row["parametric_object"], string_similarity_ratio)
            for row in frame[["statement_subject", "parametric_object"]].to_dict(orient="records")
        ],
        index=frame.index,
        dtype=bool,
    )
    return frame.loc[distinct].copy()
