"""One module per command of ``penstock``, each with an ``app``; see ``penstock.cli``."""
