"""What an attack's answers are worth: advantage, TPR and FPR, AUC, and the uncertainty of each."""
