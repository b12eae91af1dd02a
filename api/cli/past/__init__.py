"""Jobs whatever became of them: the options that ask for them, and their page."""
