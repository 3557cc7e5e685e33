"""What runs in the interpreter of a plugin's environment; see ``main``."""
