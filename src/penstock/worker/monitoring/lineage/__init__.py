"""Events of OpenLineage: which connector reads and writes which data (``penstock.openlineage.*``)."""
