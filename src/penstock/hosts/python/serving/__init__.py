"""The plugin's side: the program that runs in the interpreter of its environment; see ``main``."""
