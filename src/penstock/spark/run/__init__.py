"""One run of a task: its story, what it reports, and the process that it had."""
