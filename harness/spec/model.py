"""What a spec may say: one experiment of a paper and the claims made on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, PrivateAttr, model_validator

from harness.attacks import ATTACKS, Attack, ScoringAttack
from harness.attacks.attack import table_metrics
from harness.claims.declared import NameScope, describe_unknown_name, list_names
from harness.claims.expectation import MeasuredClaimKind
from harness.claims.later import Seen
from harness.claims.levels import RAREST
from harness.config import Config
from harness.coordinates import Level
from harness.data.steps import LEAST_SHOWN
from harness.experiment.axes import RESERVED, Axis
from harness.experiment.experiment import Experiment
from harness.experiment.results import AnyExperiment, ResultsFile
from harness.experiment.setup import Name
from harness.formulas import FORMULAS
from harness.identity import canonical, canonical_path
from harness.metrics import METRICS
from harness.metrics.curves import CURVES
from harness.metrics.metric import MODEL_SCOPES
from harness.paths import portable_path
from harness.results.names import names_of_results
from harness.spec.ambiguity import Ambiguity
from harness.spec.attacks import attack_variants, check_pool, has_curve, refuse_missing_decisions
from harness.spec.claim import Claim
from harness.spec.page import Layout, Panel
from harness.spec.paper_run import PaperRun
from harness.spec.surface import SHARED
from harness.theory.definition import Definition

ALPHA = 0.05
"""Level at which a claim is decided where its spec names none."""

if TYPE_CHECKING:
    AnyAttack = Attack
else:
    AnyAttack = ATTACKS.union()


class Spec(Config):
    """One declaration: an experiment (none for theory alone), attacks, and claims."""

    hashed_as: ClassVar[dict[str, str]] = {"ambiguities": "unstated"}

    id: str
    """Path below `specs/` without its ending; set by the loader."""
    paper: Name
    """Key in `specs/papers.yaml`."""
    title: str
    where: str
    """Figure, table or section of the paper."""
    version: int = Field(default=1, ge=1)
    """Raised when the meaning of the spec changes."""
    level: float = Field(default=ALPHA, gt=0, le=0.5, exclude_if=lambda level: level == ALPHA)
    """Chance of a wrong verdict on a claim, at most. A spec of many claims may ask for less."""
    rarest: float = Field(default=RAREST, ge=1, exclude_if=lambda rarest: rarest == RAREST)
    """N: where a claim's points or parts divide its level, so few repeats decide nothing that all of them might miss an
    outcome drawn once in N. A survey, whose level is divided among hundreds of claims, has 1: nothing is bounded."""
    least_shown: int = Field(default=LEAST_SHOWN, ge=1, exclude_if=lambda least: least == LEAST_SHOWN)
    """Rows of a table of one's own that share a value, below which no page, table or log names the value. What a lower
    number than 10 names may be a person's: write one only where the table may be published."""
    experiment: AnyExperiment | None = None
    attacks: dict[Name, AnyAttack] = {}
    attack_axes: dict[Name, dict[Name, Axis]] = {}
    """Fields of attacks that vary, by attack."""
    attack_labels: dict[Name, str] = Field(default={}, exclude_if=lambda labels: not labels)
    """What sentences and figures call an attack, by its name here; others go by what the field calls them."""
    define: dict[Name, Definition] = Field(default={}, exclude_if=lambda define: not define)
    """Formulas of the spec's own, by name, for claims on theory; each may use those before it."""
    claims: tuple[Claim, ...] = Field(min_length=1)
    paper_run: PaperRun | None = None
    """What the paper ran; none where it ran nothing, or there is no paper."""
    ambiguities: tuple[Ambiguity, ...] = ()
    deviations: tuple[str, ...] = ()
    """Known differences from the paper."""
    figure: tuple[Panel, ...] = ()
    layout: tuple[Layout, ...] = ()
    """Printed tables of formulas, drawn with the verdict on each entry."""

    _seen: Mapping[str, Seen | None] = PrivateAttr(default_factory=dict)

    def with_seen(self, seen: Mapping[str, Seen | None]) -> Spec:
        """The same, which knows by claim what had been measured before it was declared."""
        same = self.with_values()
        same._seen = dict(seen)
        return same

    @property
    def seen_of_all(self) -> Mapping[str, Seen | None]:
        """The same of every claim of which it is known."""
        return self._seen

    def seen_before(self, claim: str) -> Seen | None:
        """What had been measured before a claim was declared, or last changed; None: all that there is counts as so."""
        return self._seen.get(claim, {})

    def with_values(self, **fields: object) -> Spec:
        """The same with other values of some fields, which are not checked again."""
        changed = self.model_copy(update=fields)
        for name in ("name_scope", "attacks_asked"):  # worked out from the fields before
            changed.__dict__.pop(name, None)
        return changed

    @cached_property
    def name_scope(self) -> NameScope:
        """What claims may name."""
        if self.experiment is None:
            return NameScope({}, {})
        if isinstance(self.experiment, ResultsFile):
            return names_of_results(self.experiment)
        return NameScope(
            arms={arm: self.experiment.levels(arm) for arm in self.experiment.arms},
            attacks={name: table_metrics(attack) for name, attack in self.attacks.items()},
            scored=frozenset(name for name, attack in self.attacks.items() if isinstance(attack, ScoringAttack)),
            without_threshold=frozenset(
                n for n, attack in self.attacks.items() if table_metrics(attack) != attack.measures
            ),
            attack_axes={
                name: {axis: declared.values for axis, declared in axes.items()}
                for name, axes in self.attack_axes.items()
            },
            courses=frozenset(
                name for name, arm in self.experiment.arms.items() if arm.training.epochs_measured == "each"
            ),
            same_records=self.experiment.resample == "training",
        )

    @property
    def own_experiment(self) -> Experiment | None:
        """The experiment, where it is one that is run."""
        return self.experiment if isinstance(self.experiment, Experiment) else None

    @property
    def results(self) -> ResultsFile | None:
        """The experiment, where it is a file of results from elsewhere."""
        return self.experiment if isinstance(self.experiment, ResultsFile) else None

    @property
    def attack_names(self) -> tuple[str, ...]:
        """Attacks, of the spec or of its file of results."""
        return tuple(self.attacks if self.results is None else self.results.attacks)

    @property
    def attack_metrics(self) -> frozenset[str]:
        """Metrics that are of attacks."""
        return frozenset(metric for measured in self.name_scope.attacks.values() for metric in measured)

    def parts(self, claim: Claim) -> Sequence[MeasuredClaimKind]:
        """The inequalities that a claim about measurements stands for, all of which must hold."""
        return [part for one in claim.measured for part in one.parts(self.name_scope)]

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of all axes: the experiment's, epsilon (or what it follows from) last, then the attacks'."""
        own = () if self.experiment is None else self.experiment.coordinates
        return tuple(dict.fromkeys([*own, *(name for axes in self.attack_axes.values() for name in axes)]))

    @cached_property
    def attacks_asked(self) -> dict[str, tuple[str, ...]]:
        """By arm, the attacks that a claim or a figure speaks of there.

        Every attack is asked for on an arm that neither names; and an attack that neither names on every arm, but for
        those that claims name for their models alone.
        """
        if self.own_experiment is None:
            return {}
        by_arm: dict[str, set[str]] = {arm: set() for arm in self.own_experiment.arms}
        arms: set[str] = set()
        for part in (part for claim in self.claims for part in self.parts(claim)):
            arms |= set(part.arms())
            for arm, attacks in part.attacks().items():
                by_arm[arm] |= {*attacks} - {""}
        for panel in self.figure:
            for arm in panel.arms or by_arm:
                by_arm[arm] |= set(panel.attacks or (self.attacks if _of_attacks(panel) else ()))
        named = {attack for attacks in by_arm.values() for attack in attacks}
        others = {*self.attacks} - named
        asked = {
            arm: attacks | others if attacks else set() if arm in arms else {*self.attacks}
            for arm, attacks in by_arm.items()
        }
        return {arm: tuple(attack for attack in self.attacks if attack in attacks) for arm, attacks in asked.items()}

    def content(self) -> dict[str, Any]:
        """The whole spec by the names that are hashed, as JSON."""
        content = canonical(self)
        if self.results is not None:
            content["experiment"] = self.results.content()
        elif self.experiment is not None:
            content["experiment"]["axes"] = self.experiment.content()["axes"]
            for arm in content["experiment"]["arms"].values():
                if isinstance(path := arm["dataset"].get("path"), str):
                    arm["dataset"]["path"] = portable_path(path)
        for attack, axes in self.attack_axes.items():
            content["attack_axes"][attack] = {name: axis.content(self.attacks[attack]) for name, axis in axes.items()}
        for ambiguity, written in zip(self.ambiguities, content["unstated"], strict=True):
            if ambiguity.field is not None:
                written["field"] = self.canonical_field(ambiguity.field)
        return content

    def canonical_field(self, path: str) -> str:
        """The dotted path of a field, as a spec's file writes it, by the names that are hashed."""
        top, _, below = path.partition(".")
        if top == "experiment" and below.partition(".")[0] in SHARED and self.own_experiment is not None:
            return f"{top}.{canonical_path(next(iter(self.own_experiment.arms.values())), below)}"
        return canonical_path(self, path)

    def variants_of(self, attack: str) -> Iterable[tuple[dict[str, Level], Attack]]:
        """An attack at every place of its own axes."""
        return attack_variants(self.attacks[attack], self.attack_axes.get(attack, {}))

    @model_validator(mode="after")
    def _check_consistency(self) -> Spec:
        seen: set[str] = set()
        for claim in self.claims:
            if claim.id in seen:
                raise ValueError(f"claim {claim.id!r} is declared twice")
            seen.add(claim.id)
        if self.experiment is None and self.attacks:
            raise ValueError("attacks are declared but there is no experiment to attack")
        attacks = self.attacks if self.results is None else self.results.attacks
        for name in self.attack_labels:
            if name not in attacks:
                raise ValueError(f"attack_labels: {describe_unknown_name('attack', name, attacks)}")
        if self.results is not None:
            self._check_results()
        if self.own_experiment is not None:
            self._check_attacks(self.own_experiment)
            if self.paper_run is None and (of := next((c for c in self.claims if c.origin == "paper"), None)):
                raise ValueError(f"claim {of.id!r} is the paper's; say what the paper ran it on (paper_run)")
        for claim in self.claims:
            if self.experiment is None and not claim.theory:
                raise ValueError(f"claim {claim.id!r} speaks of measurements but the spec has no experiment")
            try:
                for one in (claim, *(other for _, other in claim.other_readings())):
                    for part in self.parts(one):
                        part.check(self.name_scope)
            except ValueError as error:
                raise ValueError(f"claim {claim.id!r}: {error}") from None
        for table in self.layout:
            self._check_layout(table)
        for panel in self.figure:
            self._check_panel(panel)
        return self

    def _check_results(self) -> None:
        if self.attacks:
            raise ValueError(
                "attacks: results from elsewhere were attacked already; name attacks in experiment.attacks"
            )
        for one in self.ambiguities:
            if one.alternatives:
                raise ValueError("ambiguities: no alternative of results from elsewhere can be run; leave them out")

    def _check_panel(self, panel: Panel) -> None:
        arms = self.experiment.arms if self.experiment is not None else {}
        known: dict[str, tuple[Iterable[str], Iterable[str]]] = {
            "arm": (panel.arms, arms),
            "attack": (panel.attacks, self.attack_names),
            "formula": (panel.formulas, FORMULAS),
            "axis": (panel.at, self.axes),
            "horizontal axis": ((panel.x,), (*self.axes, "epsilon", "epsilon-as-trained", "arm")),
        }
        for noun, (named, there) in known.items():
            for name in named:
                if name not in there:
                    raise ValueError(f"figure {panel.title!r}: {describe_unknown_name(noun, name, there)}")
        if self.results is not None and panel.curve is None and panel.x not in (*self.axes, "arm"):
            known_axes = list_names([*self.axes, "arm"])
            raise ValueError(f"figure {panel.title!r}: x: {panel.x!r} is no axis of the results; known: {known_axes}")
        if panel.curve is not None:
            self._check_curve(panel, panel.curve)
        elif not panel.metrics and not panel.formulas:
            raise ValueError(f"figure {panel.title!r}: nothing to draw; give metrics, formulas or a curve")
        refuse_missing_decisions(panel, self.attacks)

    def _check_curve(self, panel: Panel, name: str) -> None:
        of = CURVES[name].of
        fits = [attack for attack, config in self.attacks.items() if has_curve(config, of)]
        if self.results is not None and self.results.format == "scores" and of == "scores":
            fits = list(self.attack_names)
        if panel.metrics or panel.formulas:
            raise ValueError(f"figure {panel.title!r}: a curve takes the place of metrics and formulas; leave them out")
        wrong = [attack for attack in panel.attacks if attack not in fits]
        if wrong or not panel.attacks:
            what = {"scores": "a score for each record", "losses": "losses", "rates": "rates of each record"}[of]
            hint = f"attack {wrong[0]!r} does not give {what}" if wrong else "attacks: name those to draw"
            raise ValueError(f"figure {panel.title!r}: {hint}; of this curve can be drawn: {list_names(fits)}")

    def _check_attacks(self, experiment: Experiment) -> None:
        for name, attack in self.attacks.items():
            pool = attack.shadow_pool
            for arm, setup in experiment.arms.items():
                if pool is not None and pool not in setup.pools:
                    raise ValueError(
                        f"attack {name!r} needs the pool {pool!r}; declare it under experiment.pools "
                        f"(arm {arm!r} has: {list_names(setup.pools)})"
                    )
                if pool is not None:
                    check_pool(f"attack {name!r}", attack, setup.pools[pool], pool)
        self._check_access(experiment)
        for attack_name, axes in self.attack_axes.items():
            for axis in axes:
                if axis in RESERVED or axis in experiment.coordinates:
                    raise ValueError(f"attack {attack_name!r}: an axis cannot be named {axis!r}; that name is taken")

    def _check_access(self, experiment: Experiment) -> None:
        """Raises ValueError where an attack needs more than a defence leaves to ask for."""
        varied = any(axis.field.split(".")[0] == "defence" for axis in experiment.axes.values())
        setups = [(v.arm, v.setup) for v in experiment.variants()] if varied else list(experiment.arms.items())
        for arm, defence in ((arm, setup.defence) for arm, setup in setups if setup.defence.answers == "labels"):
            for name, attack in self.attacks.items():
                if attack.access == "posteriors":
                    one_hot = "labels_as" in type(attack).model_fields
                    raise ValueError(
                        f"attack {name!r} needs posteriors, and in the arm {arm!r} the defence "
                        f"{defence.plugin_name()!r} answers labels alone; "
                        + ("set labels_as: one-hot in the attack, or " if one_hot else "")
                        + "leave the attack or the arm out"
                    )

    def _check_layout(self, table: Layout) -> None:
        known = {claim.id: claim for claim in self.claims}
        for name, entry in ((name, entry) for name, entries in table.rows.items() for entry in entries):
            if entry.claim is not None and entry.claim not in known:
                raise ValueError(f"layout row {name!r}: unknown claim {entry.claim!r}; known: {list_names(known)}")
            of = 0
            if entry.claim is not None:
                claim = known[entry.claim]
                of = len(claim.theory) or len(self.parts(claim))
            if any(part > of for part in entry.parts):
                raise ValueError(f"layout row {name!r}: the claim {entry.claim!r} has {of} parts")


def _of_attacks(panel: Panel) -> bool:
    """Whether a panel draws what attacks measure, and not of models alone."""
    return any(metric not in METRICS or METRICS[metric].scope not in MODEL_SCOPES for metric in panel.metrics)
