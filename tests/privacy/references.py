"""Reference values of delta, by mpmath: `python -m tests.privacy.references` writes `references.json` (five minutes).

Nothing of the package is used. Of two steps the delta is an integral over the first one's outcome of the second one's
delta, which has a closed form; of more it is the inverse Laplace transform of the moments of the privacy loss,

    delta(eps) = 1 / (2 pi i) * integral of M(s)^T exp(-s eps) / (s (s + 1)) ds,  M(s) = E_P[exp(s L)],

along a vertical line through the saddle point (Alghamdi et al. 2023), by the trapezoidal rule with half the step until
nothing changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mpmath as mp

FILE = Path(__file__).with_name("references.json")
CASES = (
    # noise, rate, steps, epsilon
    (0.1, 0.5, 2, 230),
    (0.1, 1e-6, 2, 100),
    (1, 0.02, 2, 1.5),
    (1, 0.999, 2, 20),
    (100, 1e-3, 2, 1e-4),
    (1e4, 0.5, 2, 4e-4),
    (1e4, 1e-6, 2, 1e-9),
    (1, 0.02, 5000, 10),
    (1, 0.02, 5000, 26),
    (480, 0.02, 5000, 0.007),
    (480, 0.02, 5000, 0.03),
    (5.8, 0.02, 5000, 1),
    (13256, 0.02, 5000, 2e-4),
    (1, 0.5, 100, 60),
    (10, 0.5, 100, 3),
    (10, 0.9, 10, 3),
    (0.5, 0.1, 100, 80),
    (1e4, 1e-6, 10**6, 1e-6),
    (1e4, 0.1, 10**6, 0.05),
    (100, 1e-4, 10**4, 1e-3),
    (3, 1e-5, 10**6, 0.01),
)


def log_ratio(z: Any, noise: Any, rate: Any) -> Any:
    """Privacy loss of an outcome in deviations."""
    w = z / noise - 1 / (2 * noise**2)
    return mp.log1p(rate * mp.expm1(w))


def one_step(epsilon: Any, noise: Any, rate: Any) -> Any:
    """Delta of one step at any real epsilon."""
    if epsilon <= mp.log1p(-rate):
        return -mp.expm1(epsilon)
    z = noise * mp.log1p(mp.expm1(epsilon) / rate) + 1 / (2 * noise)
    return (1 - rate) * mp.ncdf(-z) + rate * mp.ncdf(1 / noise - z) - mp.exp(epsilon) * mp.ncdf(-z)


def two_steps(epsilon: Any, noise: Any, rate: Any) -> Any:
    """Delta of two: over outcomes of the first under P."""

    def integrand(z: Any) -> Any:
        density = (1 - rate) * mp.npdf(z) + rate * mp.npdf(z - 1 / noise)
        return density * one_step(epsilon - log_ratio(z, noise, rate), noise, rate)

    ends = [mp.mpf(k) / 2 for k in range(-32, 33)]
    turn = noise * (mp.log1p(-rate) - mp.log(rate)) + 1 / (2 * noise)
    more = [turn + noise * k for k in range(-12, 13)]
    end = 16 + 1 / noise
    every = sorted({p for p in [*ends, *(e + 1 / noise for e in ends), *more] if -16 <= p <= end})
    return mp.quad(integrand, every, maxdegree=5)


def many_steps(epsilon: Any, noise: Any, rate: Any, steps: int) -> Any:
    """Delta of more than two."""

    def nodes(tilt: Any) -> tuple[list[Any], list[Any]]:
        apart = min(mp.mpf("0.3"), noise / 5)
        high = 14 + (tilt + 1) / noise
        if high > 400:  # moments of so high an order: what counts lies about 0 unless sampled outcomes prevail
            high = mp.mpf(60)
        count = int((high + 14) / apart) + 1
        z = [-14 + apart * k for k in range(count)]
        return [mp.log(apart * mp.npdf(x)) for x in z], [log_ratio(x, noise, rate) for x in z]

    def moment(s: Any, at: tuple[list[Any], list[Any]]) -> Any:
        return mp.fsum(mp.exp(w + (s + 1) * loss) for w, loss in zip(*at, strict=True))

    def rises(log_tilt: Any) -> Any:
        tilt = mp.exp(log_tilt)
        at = nodes(tilt)
        h = tilt * mp.mpf("1e-8")
        slope = (mp.log(moment(tilt + h, at)) - mp.log(moment(tilt - h, at))) / (2 * h)
        return steps * slope - epsilon

    low, high = mp.mpf(-6), mp.mpf(22)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) < 0 else (low, middle)
    tilt = mp.exp(low)
    at = nodes(tilt)
    h = tilt * mp.mpf("1e-6")
    logs = [mp.log(moment(tilt + k * h, at)) for k in (-1, 0, 1)]
    deviation = mp.sqrt(steps * (logs[0] - 2 * logs[1] + logs[2]) / h**2)

    def total(apart: Any, offset: Any) -> Any:
        result, k = mp.mpf(0), 0
        while True:
            t = apart * (k + offset)
            s = mp.mpc(tilt, t)
            value = (moment(s, at) ** steps * mp.exp(-s * epsilon) / (s * (s + 1))).real
            result += value / 2 if t == 0 else value
            if k > 4 and abs(value) < mp.mpf("1e-9") * abs(result) and t * deviation > 6:
                return result
            k += 1

    apart = mp.mpf("0.4") / deviation
    result = total(apart, 0)
    while True:
        finer = (result + total(apart, mp.mpf("0.5"))) / 2
        if abs(finer - result) < mp.mpf("1e-7") * abs(finer):
            return finer * apart / mp.pi
        result, apart = finer, apart / 2


def delta(noise: float, rate: float, steps: int, epsilon: float) -> float:
    """Of losses of P against Q."""
    with mp.workdps(50 if steps == 2 else 30):
        arguments = mp.mpf(epsilon), mp.mpf(noise), mp.mpf(rate)
        return float(two_steps(*arguments) if steps == 2 else many_steps(*arguments, steps))


MOMENTS = (
    # noise, rate, order
    (0.1, 0.5, 1.01),
    (0.1, 1e-6, 3.5),
    (1, 0.02, 17.3),
    (1, 1e-3, 100),
    (1, 0.999, 2),
    (10, 0.5, 200),
    (480, 0.02, 5000),
    (13256, 0.02, 20000),
    (1e4, 1e-6, 1e6),
)


def log_moment(noise: float, rate: float, order: float) -> float:
    """ln E_Q[(P/Q)^order]."""
    with mp.workdps(40):
        s, q, a = mp.mpf(noise), mp.mpf(rate), mp.mpf(order)

        def integrand(z: Any) -> Any:
            return mp.npdf(z) * mp.exp(a * log_ratio(z, s, q))

        ends = [mp.mpf(k) / 2 for k in range(-28, 29)]
        turn = s * (mp.log1p(-q) - mp.log(q)) + 1 / (2 * s)
        more = [turn + s * k for k in range(-12, 13)] if s < 10 else []
        return float(mp.log(mp.quad(integrand, sorted({*ends, *(e + a / s for e in ends), *more}), maxdegree=6)))


if __name__ == "__main__":
    result: dict[str, list[dict[str, float]]] = {"deltas": [], "moments": []}
    for noise, rate, order in MOMENTS:
        value = log_moment(noise, rate, order)
        result["moments"].append({"noise": noise, "rate": rate, "order": order, "log_moment": value})
    for noise, rate, steps, epsilon in CASES:
        value = delta(noise, rate, steps, epsilon)
        result["deltas"].append({"noise": noise, "rate": rate, "steps": steps, "epsilon": epsilon, "delta": value})
        print(result["deltas"][-1], flush=True)
        FILE.write_text(json.dumps(result, indent=1) + "\n")
