"""Attention: the rows of ``GET /penstock/v1/attention``, from states and observations. Pure: values in, rows out."""
