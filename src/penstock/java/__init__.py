"""What the JDK and Jackson do and Kafka Connect's users can see: numbers, dates and JSON as text, hash order, regular
expressions, properties files, serialization, key stores, JAAS.

The ground floor: it imports nothing of Penstock. Errors are those of ``errors``; what is Kafka's own is elsewhere.
"""
