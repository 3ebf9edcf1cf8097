def margins(chosen, rejected):
    return chosen - rejected
