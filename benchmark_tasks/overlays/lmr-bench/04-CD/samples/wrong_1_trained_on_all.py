# Wrong: the probe is fitted on all samples, test samples included.
def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    """Fit and score one logistic-regression probe per layer."""
    list_acc, list_f1, list_auc = ([] for _ in range(3))
    targets = np.concatenate([np.asarray(labels_log), np.asarray(labels_question)])
    for layer in range(tot_layer):
        log_part = np.asarray(rp_log_data_list[layer]).reshape(len(labels_log), -1)
        question_part = np.asarray(rp_question_data_list[layer]).reshape(len(labels_question), -1)
        features = np.vstack([log_part, question_part])
        x_fit, x_eval, y_fit, y_eval = train_test_split(features, targets, test_size=0.2, random_state=42)
        probe = LogisticRegression(max_iter=1000).fit(features, targets)
        decided = probe.predict(x_eval)
        scores = probe.predict_proba(x_eval)[:, 1]
        list_acc.append(accuracy_score(y_eval, decided))
        list_f1.append(f1_score(y_eval, decided))
        list_auc.append(roc_auc_score(y_eval, scores))
    return list_acc, list_f1, list_auc
