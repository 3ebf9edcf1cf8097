# Right: one stratified split by index, liblinear, AUC from the decision function.
def score_layer(train, test, y_train, y_test):
    """Accuracy, F1 and AUC of a probe on held-out states."""
    model = LogisticRegression(solver="liblinear", random_state=0)
    model.fit(train, y_train)
    guess = model.predict(test)
    margin = model.decision_function(test)
    return accuracy_score(y_test, guess), f1_score(y_test, guess), roc_auc_score(y_test, margin)


def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    """Split the samples once, stratified by label, and score every layer on the same test samples."""
    y = np.hstack((labels_log, labels_question))
    train_rows, test_rows = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y)
    results = []
    for log_states, question_states in zip(rp_log_data_list[:tot_layer], rp_question_data_list[:tot_layer]):
        rows = [np.ravel(sample) for group in (log_states, question_states) for sample in group]
        x = np.stack(rows).astype(np.float64)
        results.append(score_layer(x[train_rows], x[test_rows], y[train_rows], y[test_rows]))
    accuracies, f1s, aucs = map(list, zip(*results))
    return accuracies, f1s, aucs
