"""The names of all pieces of work of a set-up, from the declaration, what names its data, and noise multipliers alone.

The module reads, calibrates and estimates nothing; `harness.execution.planner` brings what that takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version

from harness.attacks import Attack
from harness.attacks.attack import by_rule
from harness.config import Config
from harness.coordinates import Place, place
from harness.data.split import Split
from harness.defences import Undefended
from harness.execution.plan import CellRepeat, Piece, StackKey
from harness.experiment.experiment import Experiment, Variant
from harness.experiment.setup import Setup, ShadowPool
from harness.hashing import code_fingerprint, fingerprint
from harness.identity import Role, canonical, evaluation_of, fitting_of, split_of, training_of
from harness.metrics.metric import modules as metric_modules
from harness.training.engine import ENGINES

Noise = Callable[[float, int], float]
"""The noise multiplier at an epsilon for so many records."""
PlacedAttack = tuple[str, Place, Attack]
"""The name of an attack, its place on its own axes, and the attack there."""


class Costs:
    """The estimated costs of pieces in core-seconds, and the number of models that may be stacked.

    This base class estimates nothing.
    """

    def split(self, split: Split) -> float:
        """The cost of one draw of records."""
        return 0.0

    def training(self, noise_multiplier: float, records: int) -> float:
        """The cost of training one model on so many records."""
        return 0.0

    def fitting(self, attack: Attack, pool: ShadowPool) -> float:
        """The cost of fitting an attack on a pool."""
        return 0.0

    def of(self, setup: Setup) -> Costs:
        """The estimates for another set-up on the same data."""
        return self

    @property
    def stack_size(self) -> int:
        """The number of models that may be trained as one stack; below 2, models are trained one by one."""
        return 1


@cache
def installed_version(package: str) -> str:
    """The version of an installed package. Raises PackageNotFoundError where it is not installed."""
    return version(package)


def version_if_installed(package: str) -> str:
    """The version of a package; of one that is not installed, words by which no stored piece is named."""
    try:
        return installed_version(package)
    except PackageNotFoundError:
        return "not installed"


def missing_packages(experiment: Experiment) -> list[str]:
    """The packages that an experiment's engines compute with and that are not installed here."""
    setups = (variant.setup for variant in experiment.variants())
    trained = (one.training for setup in setups for one in (setup, *map(setup.of_pool, setup.pools.values())))
    engines = dict.fromkeys(training.engine for training in trained)
    names = dict.fromkeys(name for engine in engines for name in ENGINES[engine].packages)
    return [name for name in names if version_if_installed(name) == "not installed"]


def trains_with_function(experiment: Experiment) -> bool:
    """Whether models of an experiment are trained by a function of its author's, whose time nothing estimates."""
    setups = (variant.setup for variant in experiment.variants())
    return any(not ENGINES[setup.training.engine].cuts_batches for setup in setups)


SECONDS_PER_MEASURE = 0.02
"""The estimated core-seconds of a model's own metrics."""
SECONDS_PER_EVALUATION = 0.05
"""The estimated core-seconds of an attack on one model."""


REHEARSAL = 1 << 20
"""The number of the repeat that thresholds are learnt from, where an attack has them from there; no table has it."""


class _HashedAttack:
    """The parts of an attack that are hashed, computed once: a plan asks for them at every cell."""

    def __init__(self, attack: Attack) -> None:
        self.attack, self.learning = attack, by_rule(attack).fitting()
        self.content, self.learned, self.code = attack.content(), self.learning.content(), attack.code


class Naming:
    """The maker of the pieces of one set-up, which so names them."""

    def __init__(
        self,
        experiment: Experiment,
        setup: Setup,
        data: str,
        noise: Noise,
        costs: Costs,
        version_of: Callable[[str], str] = installed_version,
    ) -> None:
        """Name the pieces of a set-up.

        Args:
            experiment: the experiment that the set-up is of.
            setup: the data, model and training of an arm.
            data: the name of the set-up's data.
            noise: calibration, called only for models on halves of the records.
            costs: estimates, which name nothing.
            version_of: the version of a package that decides a result.
        """
        self.experiment, self.setup, self.data, self.noise, self.costs = experiment, setup, data, noise, costs
        self.version_of = version_of
        self.pieces: dict[str, Piece] = {}
        self.hashed_attacks: dict[int, _HashedAttack] = {}
        self.by_rule: dict[int, Attack] = {}
        self.by_pool: dict[int, Naming] = {}
        self.model = setup.model.content()
        self.training = {
            private: (training, training.content())
            for private, training in ((True, setup.training), (False, setup.training.without_noise()))
        }

    def cell(
        self, variant: Variant, noise_multiplier: float, repeat: int, attacks: Sequence[PlacedAttack]
    ) -> CellRepeat:
        """The pieces of one repeat at a place of the set-up's arm; the target is trained with this noise multiplier."""
        split = self.split(repeat if self.experiment.resample == "split" else 0)
        target = self.target(split, noise_multiplier, repeat)
        description = {**evaluation_of(None), "metrics": self.metrics}
        model = self._intern(Piece("evaluate", description, (target,), SECONDS_PER_MEASURE))
        evaluations = {}
        for name, where, attack in attacks:
            shadows = self.shadows(attack, split, variant.epsilon, noise_multiplier, repeat)
            rehearsal = self.rehearsal(attack, shadows, variant.epsilon, noise_multiplier)
            evaluations[name, where] = self.evaluation(attack, target, shadows, rehearsal)
        at = place(variant.place)
        return CellRepeat(variant.arm, at, variant.epsilon, repeat, noise_multiplier, split, target, model, evaluations)

    def rehearsal(
        self, attack: Attack, shadows: tuple[Piece, ...] | None, epsilon: float, noise_multiplier: float
    ) -> Piece | None:
        """The piece that attacks the target from which the attack has its threshold; None where it has it by its rule.

        The target is that of one more repeat, with a split of its own also where repeats share theirs. The attack is
        as it was fitted on `shadows`, those of the repeat that it is rehearsed for; but a pool of halves knows the
        candidate records of its own split alone, so that it is the rehearsal's.
        """
        if not attack.threshold_policy.needs_rehearsal:
            return None
        ruled = self.by_rule.setdefault(id(attack), by_rule(attack))
        split = self.split(REHEARSAL)
        if attack.needs_halves:
            shadows = self.shadows(ruled, split, epsilon, noise_multiplier, REHEARSAL)
        return self.evaluation(ruled, self.target(split, noise_multiplier, REHEARSAL), shadows)

    def split(self, repeat: int) -> Piece:
        """The piece that draws the records of one repeat; it needs the universe's, where the split divides one."""
        universe = self.setup.split.universe
        needs = () if universe is None else (self._draw_unit(universe, 0, ()),)
        return self._draw_unit(self.setup.split, repeat, needs)

    def _draw_unit(self, split: Split, repeat: int, needs: tuple[Piece, ...]) -> Piece:
        """The piece that draws the records of one repeat by a split."""
        setup = self.setup
        modules = {type(split).__module__, *type(setup.dataset).modules()}
        modules |= {"harness.data.split", "harness.data.encoding", "harness.execution.materialize"}
        description = {
            **split_of(
                self.experiment.seed,
                setup.dataset.content(),
                self.data,
                canonical(setup.preprocessing),
                canonical(setup.sizes),
                split.content(),
                repeat,
            ),
            "code": code_fingerprint(*modules),
            "packages": {"scikit-learn": installed_version("scikit-learn")},
        }
        settings: dict[str, Config] = {
            "dataset": setup.dataset,
            "preprocessing": setup.preprocessing,
            "sizes": setup.sizes,
            "split": split,
        }
        return self._intern(Piece("split", description, needs, self.costs.split(split), settings=settings))

    def target(self, split: Piece, noise_multiplier: float, repeat: int) -> Piece:
        """The piece that trains the target."""
        return self._train_unit(split, "target", None, noise_multiplier, repeat, self.setup.train_size)

    def shadows(
        self, attack: Attack, split: Piece, epsilon: float, noise_multiplier: float, repeat: int
    ) -> tuple[Piece, ...] | None:
        """The pieces that train the shadow models of an attack; None where it uses none."""
        if attack.shadow_pool is None:
            return None
        pool = self.setup.pools[attack.shadow_pool]
        if pool.trained_on == "halves":
            return self.halves(pool, split, epsilon)
        noise = 0.0 if pool.privacy == "none" else noise_multiplier
        naming = self._naming_of(pool)
        return tuple(
            naming._train_unit(split, "shadow", index, noise, repeat, self.setup.train_size)
            for index in range(pool.count)
        )

    def _naming_of(self, pool: ShadowPool) -> Naming:
        """What names the models of a pool: another than this where the pool has a model or a training of its own."""
        setup = self.setup.of_pool(pool)
        if setup is self.setup:
            return self
        if id(pool) not in self.by_pool:
            costs = self.costs.of(setup)
            naming = Naming(self.experiment, setup, self.data, self.noise, costs, self.version_of)
            naming.pieces = self.pieces
            self.by_pool[id(pool)] = naming
        return self.by_pool[id(pool)]

    def halves(self, pool: ShadowPool, split: Piece, epsilon: float) -> tuple[Piece, ...]:
        """The pieces that train models on halves of candidate records; repeats with the same candidates share them."""
        sizes = self.setup.sizes
        half = (sizes.members + sizes.nonmembers) // 2
        noise = 0.0 if pool.privacy == "none" else self.noise(epsilon, half)
        naming = self._naming_of(pool)
        return tuple(naming._train_unit(split.root, "half", index, noise, 0, half) for index in range(pool.count))

    def _train_unit(
        self, split: Piece, role: Role, index: int | None, noise_multiplier: float, repeat: int, records: int
    ) -> Piece:
        """The piece that trains one model; those that differ in data, noise and seed alone may be stacked."""
        private = noise_multiplier > 0
        training, content = self.training[private]
        # Else the split tells repeats apart, and halves are of none.
        names_repeat = self.experiment.resample == "training" and role != "half"
        description = {
            **training_of(
                role,
                index,
                self.model,
                content,
                noise_multiplier,
                repeat if names_repeat else None,
            ),
            **self._training_code,
        }
        stack = None
        if self.costs.stack_size > 1:
            alike = {k: v for k, v in description.items() if k not in ("index", "noise_multiplier", "repeat")}
            draws = {k: v for k, v in split.description.items() if k != "repeat"}
            stack = StackKey(fingerprint([alike, draws, private]), self.costs.stack_size)
        cost = self.costs.training(noise_multiplier, records)
        settings: dict[str, Config] = {"model": self.setup.model, "training": training}
        return self._intern(Piece("train", description, (split,), cost, stack, settings))

    def evaluation(
        self, attack: Attack, target: Piece, shadows: tuple[Piece, ...] | None, rehearsal: Piece | None = None
    ) -> Piece:
        """The piece that attacks a target.

        It needs the attack fitted on `shadows` where it uses some, and its rehearsal where its threshold is from there.
        """
        fitted: tuple[Piece, ...] = ()
        if id(attack) not in self.hashed_attacks:
            self.hashed_attacks[id(attack)] = _HashedAttack(attack)
        hashed = self.hashed_attacks[id(attack)]
        if shadows is not None:
            assert attack.shadow_pool is not None
            description = {**fitting_of(hashed.learned), "code": hashed.code}
            cost = self.costs.fitting(attack, self.setup.pools[attack.shadow_pool])
            fitted = (self._intern(Piece("fit", description, shadows, cost, settings={"attack": hashed.learning})),)
        rehearsed = () if rehearsal is None else (rehearsal,)
        settings: dict[str, Config] = {"attack": attack, "defence": self.setup.defence}
        code, defence = hashed.code, None
        if not isinstance(self.setup.defence, Undefended):
            code, defence = fingerprint([code, self.setup.defence.code]), self.setup.defence.content()
        description = {
            **evaluation_of(hashed.content, defence),
            "code": code,
            "metrics": self.metrics,
        }
        return self._intern(
            Piece("evaluate", description, (target, *fitted, *rehearsed), SECONDS_PER_EVALUATION, settings=settings)
        )

    @cached_property
    def metrics(self) -> str:
        """The hash of the code that computes metrics."""
        return code_fingerprint(*metric_modules(), "harness.execution.attack_cell")

    @cached_property
    def _training_code(self) -> dict[str, object]:
        """The versions of the code and the packages that decide what a training gives."""
        engine = ENGINES[self.setup.training.engine]()
        modules = (*engine.modules_for(self.setup.model), "harness.execution.train_cell")
        return {
            "code": code_fingerprint(*modules, "harness.execution.materialize"),
            "packages": {name: self.version_of(name) for name in engine.packages},
        }

    def _intern(self, piece: Piece) -> Piece:
        """The piece of this key that was made first, so that all who need it share one object."""
        return self.pieces.setdefault(piece.key, piece)


def name_cells(
    named_variants: Sequence[tuple[Variant, Naming, float]],
    attacks: Sequence[PlacedAttack],
    repeats: int,
    only: Collection[tuple[str, Place, int]] | None = None,
) -> tuple[CellRepeat, ...]:
    """The repeats of all variants, with repeats outermost: a run that stops has finished whole repeats.

    `named_variants` gives each variant with its naming and the noise multiplier of its targets. `only` keeps the
    repeats listed by arm, place and number.
    """
    return tuple(
        naming.cell(variant, noise_multiplier, repeat, attacks)
        for repeat in range(repeats)
        for variant, naming, noise_multiplier in named_variants
        if only is None or (variant.arm, place(variant.place), repeat) in only
    )
