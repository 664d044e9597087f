"""Extensions of the harness, which its core never imports: each adds commands as other packages do, by entry points."""
