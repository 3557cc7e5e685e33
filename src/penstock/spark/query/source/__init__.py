"""A Spark source's query.

``task`` is the source task. By ``executors`` Spark's processes send the rows of a batch, each those of a partition
(``sending``). With exactly once the task does (``transfer``): ``transport`` brings rows to it from Spark's processes,
``partitions`` takes those of a partition that is sent again once. ``schemas`` makes records of rows, ``checkpoint``
keeps what the batches consist of, ``pausing`` delays a pause until a batch is committed.
"""
