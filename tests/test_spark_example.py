"""The functions that examples/spark.py hands to Spark, given what Spark gives them."""

import importlib.util
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from support import posteriors
from truemix import KDEy

PATH = Path(__file__).parents[1] / "examples" / "spark.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("spark_example", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_partitions_add_up_to_the_table(example):
    names = np.array(["ham", "mail", "spam"])
    P, codes = posteriors(100, 3, 0)
    quantifier = KDEy(bandwidth=0.4, shrinkage=0.2).fit(P, names[codes])
    Q, _ = posteriors(500, 3, 1)
    table = pa.table(dict(zip(names, Q.T, strict=True)))
    work = example.summarize_partition(quantifier)
    partitions = [table.slice(0, 200), table.slice(200, 0), table.slice(200, 300)]
    made = [batch for part in partitions for batch in work(iter(part.to_batches(max_chunksize=64)))]
    assert len(made) == 2
    [merged] = example.merge_partition(iter(made))
    summary = example.unpacked(merged.column("summary")[0].as_py())
    assert summary.n_items == 500
    np.testing.assert_array_equal(quantifier.quantify(summary).prevalence, quantifier.predict(Q))
    assert list(example.merge_partition(iter([]))) == []
