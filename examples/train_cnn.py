"""Train the light CNN of the paper for MNIST or FashionMNIST and save what it says.

The network learns from 70 % of the training images and is watched on the other 30 %, the hold-out;
the weights of its best epoch are kept. Its logits on the hold-out and on the test images go into a
file that `truemix bench --data` reads.

This needs PyTorch: pip install 'truemix-experiments[images]'.
"""

import argparse
import copy
from pathlib import Path

import numpy as np

NAMES = ("MNIST", "FashionMNIST")
TRAIN_SHARE = 0.7


def read_images(name, folder):
    """Return images as numbers from 0 to 1, and labels: training set, test set."""
    import torch
    import torchvision

    parts = []
    for is_train in (True, False):
        images = getattr(torchvision.datasets, name)(folder, train=is_train, download=True)
        parts.append((images.data.to(torch.float32).unsqueeze(1) / 255, images.targets))
    return parts


def build_network(n_classes=10):
    """Two convolutions, two dense layers: about 0.4 million weights."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(64 * 7 * 7, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, n_classes),
    )


def split(labels):
    """Return the rows to learn from and the hold-out, with the same mix of classes."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(labels))
    n_train = round(TRAIN_SHARE * len(labels))
    return train_test_split(rows, train_size=n_train, random_state=0, stratify=labels)


def logits_of(network, images, batch_size=1000):
    """Return what the network says, without learning from it."""
    import torch

    network.eval()
    with torch.no_grad():
        return torch.cat([network(batch) for batch in images.split(batch_size)])


def train(network, images, labels, holdout, holdout_labels, epochs, batch_size=128):
    """Train the network; it ends with the weights that did best on the hold-out."""
    import torch
    from torch.nn.functional import cross_entropy

    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    best, best_weights = float("inf"), None
    for epoch in range(1, epochs + 1):
        network.train()
        for rows in torch.randperm(len(labels)).split(batch_size):
            optimizer.zero_grad()
            cross_entropy(network(images[rows]), labels[rows]).backward()
            optimizer.step()
        logits = logits_of(network, holdout)
        loss = cross_entropy(logits, holdout_labels).item()
        accuracy = (logits.argmax(dim=1) == holdout_labels).float().mean().item()
        print(f"epoch {epoch}: hold-out loss {loss:.4f}, accuracy {accuracy:.2%}")
        if loss < best:
            best, best_weights = loss, copy.deepcopy(network.state_dict())
    network.load_state_dict(best_weights)


def save(path, logits_holdout, y_holdout, logits_test, y_test):
    """Write the file that truemix_experiments.datasets reads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path,
        logits_holdout=np.asarray(logits_holdout, dtype=np.float32),
        y_holdout=np.asarray(y_holdout, dtype=np.int16),
        logits_test=np.asarray(logits_test, dtype=np.float32),
        y_test=np.asarray(y_test, dtype=np.int16),
        network="CNN",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--images", type=Path, default=Path("out/images"), help="kept downloads")
    parser.add_argument("--out", type=Path, default=Path("out/data"), help="folder of the file")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.epochs < 1:
        parser.error("--epochs must be at least 1")
    try:
        import torch
        import torchvision  # noqa: F401
    except ImportError:
        parser.error("this needs PyTorch; run: pip install 'truemix-experiments[images]'")

    torch.manual_seed(given.seed)
    (images, labels), (test, test_labels) = read_images(given.name, given.images)
    learn, hold = split(labels.numpy())
    network = build_network()
    train(network, images[learn], labels[learn], images[hold], labels[hold], given.epochs)
    logits_holdout, logits_test = (logits_of(network, part) for part in (images[hold], test))
    accuracy = (logits_test.argmax(dim=1) == test_labels).float().mean().item()
    path = given.out / f"{given.name}.npz"
    save(path, logits_holdout, labels[hold], logits_test, test_labels)
    print(f"Test accuracy {accuracy:.2%}. Saved {path}.")


if __name__ == "__main__":
    main()
