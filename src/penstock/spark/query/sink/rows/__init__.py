"""Rows of a table, made of records in Spark's Python processes.

``pipeline`` is the function that Spark calls there: converters and transforms, then ``row_maker``. ``columns`` has the
types, ``keys`` finds the rows that are to be changed, ``held_letters`` keeps dead letters until a try is over. ``plan``
has the messages between the driver and these processes.
"""
