"""Extensions, which the core never imports: each adds commands, an executor or a judge by entry points."""
