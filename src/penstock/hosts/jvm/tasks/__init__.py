"""A run of a task with Java plugins: its session, the batches in the JVM, the plugins as the pipeline knows them."""
