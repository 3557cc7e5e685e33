"""The converters of Confluent's Schema Registry.

What they share is here: settings, the registry's client, subjects, wire formats, and the caches that keep schema work
out of batches. The mapping between Connect's schemas and those of a format is in a package of its own per format.
"""
