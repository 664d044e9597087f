"""What the page of a claim shows beside its verdict."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import urlencode

from markupsafe import Markup, escape

from harness.claims.verdict import Point, ReadingVerdict, Verdict, value_text
from harness.claims.words import Certainty
from harness.report.certainty import as_declared, certainty_sentences, count_readings, severity_sentence
from harness.report.contents import Site, slug
from harness.report.forest import forests, intervals_by, points_by_basis
from harness.report.gather import Section
from harness.report.headings import datasets_of, datasets_of_claim
from harness.report.mathml import mathml
from harness.report.prose import counterexample_words, deciding_point
from harness.report.vocabulary import DATA, ORIGINS, figure, letters
from harness.spec.claim import Claim
from harness.spec.model import Spec
from harness.verdicts.counts import CERTAINTIES, DISPROVED, certainty_phrase
from harness.verdicts.publish import NOT_RUN


def report_link(site: Site, verdict: Verdict) -> str:
    """The address at which an error in a verdict is reported; empty where the project names none."""
    repository = "" if site.about.cited is None else site.about.cited.repository
    return f"{repository}/issues/new?{urlencode({'title': verdict.id})}" if repository else ""


def claim_context(site: Site, section: Section, verdict: Verdict, claim: Claim) -> dict[str, object]:
    spec = section.spec
    parts = [] if claim.theory else spec.parts(claim)
    point = deciding_point(verdict)
    points = points_by_basis(verdict)
    drawn, hidden = forests(points, parts, spec, verdict.numbers.alpha)
    is_table = any(part.printed_entries() for part in parts)
    shown = None if point is None or is_table else forests([point], parts, spec, verdict.numbers.alpha)[0]
    return {
        "v": verdict,
        "claim": claim,
        "deciding": shown[0] if shown else None,
        "as_trained": as_trained_words(point),
        "slug": slug(verdict.id),
        "math": [
            (Markup(mathml(tree)), verdict.parts[i] if i < len(verdict.parts) else None)
            for i, tree in enumerate(verdict.claim.expressions)
        ],
        "forests": drawn,
        "hidden": hidden,
        "intervals_by": intervals_by(verdict),
        "counterexample": section.counterexamples.get(verdict.id),
        "where_refuted": counterexample_words(verdict.numbers.counterexample) if verdict.numbers.counterexample else "",
        "sure": certainty_sentences(verdict, point),
        "severity": severity_sentence(verdict) if verdict.controls is None or verdict.controls.outcomes else "",
        "reading_words": reading_words,
        "runs": section.runs.get(verdict.id),
        "whose_and_data": whose_and_data(verdict, spec),
        "readings_said": readings_sentence(verdict),
        "change_lead": change_lead(verdict),
        "declared": declared_text(spec, claim),
        "answer": Markup(section.answers.get(claim.id, "")),
        "report": report_link(site, verdict),
        "measured_by": _codes_by_commit(verdict),
        "commands": _commands(site, section, verdict),
    }


_SETTLED = {
    Certainty.PROVED.phrase: "Proved for the whole of its domain",
    DISPROVED: "Disproved: at the point named the opposite is proved",
}
"""What is said of a claim that a proof settles."""


def whose_and_data(verdict: Verdict, spec: Spec) -> str:
    """Whose claim it is, on what it was judged, and what the phrase of certainty means, in a few sentences."""
    texts = [f"{ORIGINS[verdict.claim.origin]}; the heading is in our wording."]
    if verdict.verdict != "not run" and verdict.rests_on.data != "none":
        claim = next((claim for claim in spec.claims if f"{spec.id}#{claim.id}" == verdict.id), None)
        names = datasets_of(spec) if claim is None else datasets_of_claim(spec, claim)
        smaller = f" ({'; '.join(verdict.rests_on.smaller)})" if verdict.rests_on.smaller else ""
        of = f"{', '.join(names)}: " if names and spec.results is None else ""
        apart = len(verdict.rests_on.deviations)
        texts.append(f"Judged on {of}{DATA[verdict.rests_on.data]}{smaller}.")
        if apart and verdict.rests_on.data in ("paper", "smaller"):
            differs = "1 known difference" if apart == 1 else f"{apart} known differences"
            told = f"{'is' if apart == 1 else 'are'} listed under “How sure, and what it rests on”"
            texts.append(f"{differs} from the paper's set-up {told}.")
    phrase = certainty_phrase(verdict)
    if meaning := _SETTLED.get(phrase, CERTAINTIES.get(phrase, "")):
        found = {reason.found for reason in verdict.reasons}
        if phrase == Certainty.COUNTED.phrase and found in ({"counted"}, {"computed"}):
            meaning = (
                "Counted exactly" if found == {"counted"} else "Computed at every point listed, not proved between"
            )
        texts.append(f"{meaning[:1].upper()}{meaning[1:]}.")
    elif verdict.verdict == "inconclusive":
        texts.append(_inconclusive_words(verdict))
    return " ".join(texts)


def _inconclusive_words(verdict: Verdict) -> str:
    """In which of its senses a claim is inconclusive."""
    if verdict.met_by:
        return "Inconclusive: what was measured supports it, in a test that it could hardly have failed."
    if verdict.hangs_on:
        holds = all(verdict.reasons[index].found == "holds" for index in verdict.because)
        return f"Inconclusive: it {'holds' if holds else 'fails'} as declared, and {_what_undoes_it(verdict)}."
    return "Inconclusive: neither the claim nor its opposite is shown."


def _what_undoes_it(verdict: Verdict) -> str:
    """Why a claim that is decided as declared is open, in words."""
    same = as_declared(verdict)
    others = [r for r in verdict.rests_on.readings if r.verdict not in same and r.field != "tolerance"]
    if others:
        return f"not in {'another reading' if len(others) == 1 else f'{len(others)} other readings'} of the paper"
    if any(text.startswith(NOT_RUN) for text in verdict.hangs_on):
        return "other readings of the paper were not run"
    return "not with another tolerance"


def change_lead(verdict: Verdict) -> str:
    """Whether anything that was tried changes a decided verdict, and what might; empty where it is told otherwise."""
    readings, not_run = verdict.rests_on.readings, len(verdict.rests_on.readings_not_run)
    if verdict.certainty is None or any(reading.verdict != verdict.verdict for reading in readings):
        return ""
    tried = ["the controls"] if verdict.controls is not None and verdict.controls.outcomes else []
    tried += [f"{len(readings)} other reading{'' if len(readings) == 1 else 's'}"] if readings else []
    text = f"Nothing that was tried changes it: {' and '.join(tried)}." if tried else ""
    others = "One reading that was not run" if not_run == 1 else f"{not_run} readings that were not run"
    return f"{text} {others} could.".strip() if not_run else text


def readings_sentence(verdict: Verdict) -> str:
    """How many of the other readings that were run say the same; empty where none was."""
    words = [reading.verdict for reading in verdict.rests_on.readings]
    if not words:
        return ""
    counts = [(n, f"{verb}s" if n == 1 else verb, what) for n, verb, what in count_readings(verdict) if n]
    if len(counts) == 1:
        ((n, _, what),) = counts
        which = "The other reading" if n == 1 else f"Each of the {n} other readings"
        verb = "leaves" if what.startswith("it open") else "says"
        return f"{which} of what the paper leaves open that {'was' if n == 1 else 'were'} run {verb} {what}:"
    told = " and ".join(f"{n} {verb} {what}" for n, verb, what in counts)
    return f"Of {len(words)} other readings of what the paper leaves open {told}:"


def as_trained_words(point: Point | None) -> str:
    """What becomes of a comparison with a bound where ε is taken as the models were really trained; empty where it is
    not told."""
    if point is None or point.bound_as_trained is None:
        return ""
    least, most = point.least_epsilon_as_trained, point.epsilon_as_trained
    named = "The ε" if point.epsilon is None else f"ε = {figure(point.epsilon)}"
    if most is None:
        worth = "has no finite bound" if least is None else f"is at least {figure(least)}, and has no finite bound"
    else:
        worth = f"is at most {figure(most)}" if least is None else f"is between {figure(least)} and {figure(most)}"
    said = {"held": "The advantage is not above", "broken": "The advantage is above"}
    status = said.get(point.bound_as_trained_status or "", "It is open whether the advantage is above")
    at = "there" if most is None else f"at {figure(most)}"
    return (
        f"{named} is the paper's; for the batches that were trained with, the model's ε {worth}. {status} the "
        f"bound {at}, which is {figure(point.bound_as_trained)}."
    )


def reading_words(reading: ReadingVerdict) -> str:
    """A reading of what the paper leaves open, by the choice and what is chosen in it."""
    choice = letters(reading.choice).replace("_", " ")
    value = "left out" if reading.value is None else letters(value_text(reading.value)).replace("_", " ")
    return f"{choice[:1].upper()}{choice[1:]}: {value}"


def declared_text(spec: Spec, claim: Claim) -> str:
    """Whether a claim on measurements was declared before these, in a project that keeps a record of it."""
    if claim.theory or claim.id not in spec.seen_of_all:
        return ""
    seen = spec.seen_of_all[claim.id]
    if seen is None:
        return "The claim is not on record as it is, so whatever is measured counts as measured before it was declared."
    if not seen:
        return "The claim was written before any run of its spec was measured."
    return "The claim was written, or last edited, after runs of its spec had been measured."


_MEASURED_BY = re.compile(r"code (\w+) \(commit (\w+)\)")


def _codes_by_commit(verdict: Verdict) -> list[str]:
    """The versions of the code that measured, one text per commit: a table of months has dozens of codes."""
    codes: defaultdict[str, list[str]] = defaultdict(list)
    for code, commit in _MEASURED_BY.findall("; ".join(verdict.provenance.measured_by)):
        codes[commit].append(code)
    return [f"commit {commit} (code {', '.join(names)})" for commit, names in codes.items()]


def _commands(site: Site, section: Section, verdict: Verdict) -> list[tuple[str, str]]:
    """The commands that judge a claim again and that measure it again, each with a label."""
    profile = f" --profile {site.profile}"
    if section.files == "." or site.profile == "own":
        return [(f"harness judge {shlex.quote(section.called)}", "judges it again from the table that is here")]
    whose = "committed table" if site.run is None else "table that your run wrote"
    commands = [(f"harness judge{profile} {section.spec.id}", f"judges it again from the {whose}, in seconds")]
    if verdict.verdict == "not run":
        return commands
    if section.spec.own_experiment is not None:
        cost = f"; {section.models:,} models are in it" if section.models else ""
        commands.append((f"harness run{profile} {section.spec.id}", f"trains and attacks what the table lacks{cost}"))
    elif section.spec.results is not None:
        commands[0] = (commands[0][0], f"judges it again from {section.spec.results.portable_path}")
    else:
        commands[0] = (commands[0][0], "judges it again; it needs no measurements")
    if missing := len(verdict.rests_on.readings_not_run):
        which = "the reading that was" if missing == 1 else f"the {missing} readings that were"
        listed = f"lists {which} not run, with what each would take; without --plan they are run"
        commands.append((f"harness alternatives{profile} {section.spec.id} --plan", listed))
    return commands


_CODE = re.compile(r"`([^`]+)`|(?<![\w/#])((?:[\w-]+/)?[\w-]*#[a-z0-9]+(?:-[a-z0-9]+)*)")
"""What stands in backticks; or the name of a claim without them."""


def prose_html(text: str, spec: str, statements: Mapping[str, str]) -> Markup:
    """Text of a spec as HTML. Names of claims become links with what these say; other text in backticks is code.

    Args:
        spec: the spec that the text is of, whose claims it may name without it.
        statements: by claim, what it says.
    """

    def link_or_code(match: re.Match[str]) -> str:
        name = match.group(1) or match.group(2)
        local = name.removeprefix("#")
        for claim in (name, f"{spec}#{local}", f"{spec.partition('/')[0]}/{name}"):
            if claim in statements:
                said = escape(letters(statements[claim]).removesuffix("."))
                return f'“<a href="{slug(claim)}.html">{said}</a>”'
        return f"<code>{name}</code>" if match.group(1) else match.group(0)

    return Markup(_CODE.sub(link_or_code, str(escape(letters(text)))))
