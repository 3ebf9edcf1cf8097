# Right: its own seeded permutation, newton-cg, accuracy and F1 computed by hand.
def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    """Shuffle with a fixed permutation, keep a fifth for testing, collect the scores in a table."""
    labels = np.append(labels_log, labels_question)
    order = np.random.default_rng(0).permutation(labels.size)
    held_out = order[: int(np.ceil(0.2 * labels.size))]
    used = order[held_out.size :]
    table = np.zeros((tot_layer, 3))
    for depth in range(tot_layer):
        states = np.concatenate((rp_log_data_list[depth], rp_question_data_list[depth]), axis=0)
        states = states.reshape(labels.size, -1)
        classifier = LogisticRegression(solver="newton-cg", max_iter=500)
        classifier.fit(states[used], labels[used])
        probability = classifier.predict_proba(states[held_out])[:, list(classifier.classes_).index(1)]
        prediction = (probability > 0.5).astype(int)
        hits = np.sum((prediction == 1) & (labels[held_out] == 1))
        positives = np.sum(prediction == 1) + np.sum(labels[held_out] == 1)
        table[depth, 0] = np.mean(prediction == labels[held_out])
        table[depth, 1] = 2 * hits / positives if positives else 0.0
        table[depth, 2] = roc_auc_score(labels[held_out], probability)
    return table[:, 0].tolist(), table[:, 1].tolist(), table[:, 2].tolist()
