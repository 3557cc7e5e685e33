"""The host of Java plugins: a JVM with the jars of ``plugin.path``, driven by this process."""
