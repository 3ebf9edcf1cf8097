"""How far raters agree, and how sure each number is: pure statistics of labels. No Django here."""
