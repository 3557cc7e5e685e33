"""Behaviour of the JDK and of Jackson that users of Kafka Connect can see: numbers, dates and JSON as text, hash order,
regular expressions, properties files, serialization, key stores, JAAS.

The lowest layer: it imports nothing of Penstock. Its errors are those of ``errors``; Kafka's own behaviour is
elsewhere.
"""
