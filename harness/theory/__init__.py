"""Claims about formulas and mechanisms, judged without training: by proof, exact optimum, or simulation."""
