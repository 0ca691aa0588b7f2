"""The catalogue says what the paper's table says, row by row."""

import csv
import io

import pytest

from truemix_experiments.datasets import CATALOGUE, SUITES, Embedded, LeQua, Uci

TABLE = """\
dataset,modality,train,val,test,bag_size,features,classes
abalone,tabular,2846,1139,1220,1000,9,15
academic-success,tabular,3096,1239,1328,1000,36,3
chess,tabular,19198,7680,8228,1000,20,13
cmc,tabular,1031,413,442,1000,9,3
connect-4,tabular,25000,10000,42557,1000,84,3
digits,tabular,3933,1574,1687,1000,64,10
dry-bean,tabular,9527,3811,4084,1000,16,7
hand_digits,tabular,7694,3078,3298,1000,16,10
image_seg,tabular,1617,647,693,1000,19,7
isolet,tabular,5457,2183,2340,1000,617,26
letter,tabular,14000,5600,6000,1000,16,26
mhr,tabular,709,284,305,1000,6,3
molecular,tabular,2233,894,957,1000,227,3
nursery,tabular,9070,3628,3888,1000,19,4
obesity,tabular,1477,591,634,1000,23,7
page_block,tabular,3811,1525,1634,1000,10,4
phishing,tabular,947,379,406,1000,9,3
satellite,tabular,4504,1802,1931,1000,36,6
shuttle,tabular,25000,10000,32756,1000,7,3
waveform-v1,tabular,3500,1400,1500,1000,21,3
wine-quality,tabular,4523,1810,1939,1000,11,5
yeast,tabular,1035,414,444,1000,8,9
gasp,text,8788,1256,3765,100,78244,3
hcr,text,1594,797,798,100,22061,3
omd,text,1839,263,787,100,19385,3
sanders,text,2155,308,923,100,23980,3
semeval13,text,11338,1654,3813,100,107984,3
semeval14,text,11338,1654,1853,100,107984,3
semeval15,text,11338,1654,2390,100,107984,3
semeval16,text,8000,2000,2000,100,76387,3
sst,text,2971,425,1271,100,29664,3
wa,text,2184,312,936,100,23745,3
wb,text,4259,609,1823,100,40507,3
LeQua2022-T1A,text,5000,---,---,250,300,2
LeQua2022-T1B,text,20000,---,---,1000,300,28
LeQua2024-T1,text,5000,---,---,250,256,2
LeQua2024-T2,text,20000,---,---,1000,256,28
CIFAR100,image,9000,6000,10000,2000,100,100
CIFAR10,image,9000,6000,10000,500,10,10
MNIST,image,10800,7200,10000,500,10,10
FashionMNIST,image,10800,7200,10000,500,10,10
SVHN,image,13186,8791,26032,500,10,10
"""
ROWS = list(csv.DictReader(io.StringIO(TABLE)))


def count(text):
    return None if text == "---" else int(text)


@pytest.mark.parametrize("row", ROWS, ids=[row["dataset"] for row in ROWS])
def test_counts_are_those_of_the_paper(row):
    info = CATALOGUE[row["dataset"]]
    assert info.name == row["dataset"]
    assert info.modality == row["modality"]
    assert info.n_train == count(row["train"])
    assert info.n_validation == count(row["val"])
    assert info.n_test == count(row["test"])
    assert info.bag_size == count(row["bag_size"])
    assert info.n_features == count(row["features"])
    assert info.n_classes == count(row["classes"])


def test_suites_cover_the_paper_and_nothing_twice():
    assert SUITES["paper"] == tuple(row["dataset"] for row in ROWS)
    assert sorted(SUITES["tabular"] + SUITES["text"] + SUITES["image"]) == sorted(SUITES["paper"])
    assert [len(SUITES[m]) for m in ("paper", "tabular", "text", "image")] == [42, 22, 15, 5]
    assert set(SUITES["paper"]) | set(SUITES["embedded"]) == set(CATALOGUE)
    assert not set(SUITES["paper"]) & set(SUITES["embedded"])


def test_sources_fit_the_suites():
    numbers = [CATALOGUE[name].source.id for name in SUITES["tabular"]]
    assert len(set(numbers)) == 22
    assert all(isinstance(CATALOGUE[name].source, Uci) for name in SUITES["tabular"])
    assert all(isinstance(CATALOGUE[name].source, Embedded) for name in SUITES["embedded"])
    lequa = [n for n, info in CATALOGUE.items() if isinstance(info.source, LeQua)]
    assert [CATALOGUE[name].n_test for name in lequa] == [None] * 4
