"""Java plugins as the worker knows them: found in jars, described without a JVM, called in the worker's JVM."""
