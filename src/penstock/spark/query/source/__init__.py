"""A Spark source's query.

``task`` is the source task. ``transport`` brings rows to it from Spark's processes, ``partitions`` takes those of
a partition that is sent again once, ``schemas`` makes records of them,
``checkpoint`` keeps what the batches consist of, ``pausing`` delays a pause until a batch is committed.
"""
