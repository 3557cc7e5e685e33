"""What of a Java Connect worker or cluster would work here (``penstock doctor``). Only reads."""
