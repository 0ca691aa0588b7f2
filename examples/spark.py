"""The mix of a table on Spark: each partition becomes a summary, and the summaries are added up.

    spark-submit examples/spark.py QUANTIFIER FOLDER_OF_PARQUET

QUANTIFIER is a file that ``truemix.save`` or ``truemix tune`` has written. The workers use nothing
of truemix but ``load``, ``summarize``, ``+`` and ``save``; only summaries travel between machines,
about 13 MB each for ten classes, however many rows there are.
"""

import sys
import tempfile
from functools import reduce
from operator import add
from pathlib import Path

import pyarrow as pa

import truemix
from truemix import Summary


def packed(summary):
    """Return a summary as bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "summary"
        summary.save(path)
        return path.read_bytes()


def unpacked(content):
    """Return the summary that ``packed`` made bytes of."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "summary"
        path.write_bytes(content)
        return Summary.load(path)


def summarize_partition(quantifier):
    """Return a function for ``mapInArrow``: batches of rows in, one summary out."""

    def work(batches):
        rows = (batch for batch in batches if batch.num_rows)
        first = next(rows, None)
        if first is not None:
            every = (batch for part in ([first], rows) for batch in part)
            yield pa.record_batch({"summary": [packed(quantifier.summarize(every))]})

    return work


def merge_partition(batches):
    """Add up the summaries of several partitions, also for ``mapInArrow``."""
    parts = (unpacked(each) for batch in batches for each in batch.column("summary").to_pylist())
    first = next(parts, None)
    if first is not None:
        yield pa.record_batch({"summary": [packed(reduce(add, parts, first))]})


def main():
    from pyspark.sql import SparkSession

    quantifier = truemix.load(sys.argv[1])
    spark = SparkSession.builder.appName("truemix").getOrCreate()
    classes = [str(label) for label in quantifier.classes_.tolist()]
    rows = spark.read.parquet(sys.argv[2]).select(*[f"`{name}`" for name in classes])
    summaries = rows.mapInArrow(summarize_partition(quantifier), "summary binary")
    # As a tree: a machine that adds up eight summaries needs the memory of two.
    n_parts = rows.rdd.getNumPartitions()
    while n_parts > 8:
        n_parts = -(-n_parts // 8)
        summaries = summaries.repartition(n_parts).mapInArrow(merge_partition, "summary binary")
    found = [unpacked(bytes(row.summary)) for row in summaries.collect()]
    print(quantifier.quantify(reduce(add, found)))


if __name__ == "__main__":
    main()
