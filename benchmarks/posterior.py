"""Bayesian quantification against QuaPy: seconds per bag and effective draws per second.

Both run in this process on the same posteriors, 500 warm-up steps and 1000 draws each.
``python benchmarks/posterior.py`` prints, for each case and method, QuaPy's and truemix's times
(QuaPy's without the first bag, in which it compiles), the smallest effective sample size of both
(ArviZ, bulk), and the ratios; then 500 bags of digits in one call. QuaPy's BayesianKDEy is compared
with ``estimand="population"``, which is the same posterior.
"""

import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split

from peer import Given, posteriors
from truemix import BayesianACC, BayesianEMQ, BayesianKDEy
from truemix.inference import sample_mixtures
from truemix.protocols import DirichletBags

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import arviz
    import jax
    from quapy.method._bayesian import P_TEST_Y, BayesianMAPLS, sample_posterior_bayesianCC
    from quapy.method._bayesian import BayesianKDEy as TheirKDEy
    from quapy.method.confidence import BayesianCC

N_BAGS = 4


def digits():
    X, y = load_digits(return_X_y=True)
    X, pool, y, pool_y = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    classifier = LogisticRegression(max_iter=5000)
    P = cross_val_predict(classifier, X, y, method="predict_proba")
    return P, y, classifier.fit(X, y).predict_proba(pool), pool_y


def synthetic(n_classes, n_reference, separation):
    scale = np.log(separation)
    P, y = posteriors(n_reference, n_classes, 0)
    Q, pool_y = posteriors(6000, n_classes, 1)
    # Sharper or blunter posteriors of the same items.
    P, Q = (p**scale / (p**scale).sum(axis=1, keepdims=True) for p in (P, Q))
    return P, y, Q, pool_y


CASES = {
    "digits, n=500, K=10": (digits, 500),
    "letter-like, n=1000, K=26": (lambda: synthetic(26, 8400, 4.0), 1000),
    "overlap, n=1000, K=3": (lambda: synthetic(3, 1000, 1.3), 1000),
}
# The same work as QuaPy: densities taken as known.
PLAIN = {"reference_uncertainty": None}
SMOOTH = {"kernel": "aitchison", "bandwidth": 0.5, "shrinkage": 0.1}


class Counting(BayesianCC):
    """QuaPy's counterpart of BayesianACC, asked like its other methods."""

    def sample_from_posterior(self, bag):
        """Return draws of the mix alone; counts as arrays of JAX, which this NumPyro insists on."""
        predicted = np.bincount(bag.argmax(axis=1), minlength=bag.shape[1])
        samples = sample_posterior_bayesianCC(
            jax.numpy.asarray(predicted, dtype=float),
            jax.numpy.asarray(self._n_and_c_labeled),
            num_warmup=self.num_warmup,
            num_samples=self.num_samples,
            alpha=np.ones(bag.shape[1]),
            seed=self.mcmc_seed,
        )
        return np.asarray(samples[P_TEST_Y])


def smallest_ess(draws):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return min(float(arviz.ess(np.asarray(column)[None])) for column in draws.T)


def run(quantify, bags):
    """Return seconds per bag and mean smallest ESS, the first bag not counted."""
    times, sizes = [], []
    for bag in bags:
        start = time.perf_counter()
        draws = quantify(bag)
        times.append(time.perf_counter() - start)
        sizes.append(smallest_ess(draws))
    return np.mean(times[1:]), np.mean(sizes[1:])


def main():
    print("| case | method | QuaPy s/bag | truemix s/bag | ratio | QuaPy ESS | truemix ESS | "
          "ratio of ESS/s | sampler |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (make, size) in CASES.items():
        P, y, pool, pool_y = make()
        protocol = DirichletBags(n_bags=N_BAGS, bag_size=size, random_state=0)
        bags = [pool[bag.index] for bag in protocol.bags(pool_y)]
        pairs = {
            "BayesianKDEy": (
                TheirKDEy(Given(), val_split=5, **SMOOTH),
                BayesianKDEy(estimand="population", random_state=0, **PLAIN, **SMOOTH),
            ),
            "BayesianEMQ / MAPLS": (
                BayesianMAPLS(Given(), val_split=5),
                BayesianEMQ(calibration=None, estimand="population", random_state=0),
            ),
            "BayesianACC / BayesianCC": (
                Counting(Given(), val_split=5),
                BayesianACC(estimand="population", random_state=0),
            ),
        }
        for method, (theirs, ours) in pairs.items():
            theirs.fit(P, y)
            ours.fit(P, y)
            chosen = ours.quantify(bags[0]).diagnostics["sampler"]
            t_theirs, ess_theirs = run(theirs.sample_from_posterior, bags)
            t_ours, ess_ours = run(lambda bag: ours.quantify(bag).draws, [bags[0], *bags])  # noqa: B023
            efficiency = (ess_ours / t_ours) / (ess_theirs / t_theirs)
            print(
                f"| {name} | {method} | {t_theirs:.2f} | {t_ours:.4f} | {t_theirs / t_ours:.0f}x "
                f"| {ess_theirs:.0f} | {ess_ours:.0f} | {efficiency:.0f}x | {chosen} |",
                flush=True,
            )
    P, y, pool, pool_y = digits()
    fitted = BayesianKDEy(random_state=0, **PLAIN, **SMOOTH).fit(P, y)
    bags = [bag.index for bag in DirichletBags(n_bags=500, bag_size=500).bags(pool_y)]
    start = time.perf_counter()
    sample_mixtures(fitted.model_.log_likelihood(pool), bags, random_state=0)
    print(f"\n500 bags of digits in one call: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
