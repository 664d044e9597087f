"""Results from elsewhere: a file of results becomes rows like those that a run measures, or one line says why not."""
