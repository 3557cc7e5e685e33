"""``Values.parseString``: which value a text most probably stands for."""
