"""Check of a Java Connect worker or cluster: which parts work here (``penstock doctor``). Only reads."""
