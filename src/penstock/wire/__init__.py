"""Messages between processes: framing, encoding and validation, and calls with replies.

``framing`` and ``calls`` use the standard library alone, since they also run in the environments of Python plugins,
which have none of Penstock's libraries.
"""
