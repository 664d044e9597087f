#!/usr/bin/env bash
# What action.yml runs, in the project's folder: exit 1 where a verdict is not the accepted one. PROFILE and SPECS may be
# empty; BASELINE, a path from the workspace, is a file of accepted verdicts in place of the project's own.
set -euo pipefail
options=(--quiet)
if [ -n "${PROFILE:-}" ]; then options+=(--profile "$PROFILE"); fi
if [ -n "${BASELINE:-}" ]; then
  case "$BASELINE" in /*) ;; *) BASELINE=${GITHUB_WORKSPACE:-$PWD}/$BASELINE ;; esac
  options+=(--baseline "$BASELINE")
fi
if [ -n "${RUNNER_TEMP:-}" ]; then
  # Beside the checkout, in a folder of this run: nothing that is committed passes for what was written here.
  out=$RUNNER_TEMP/claims
  rm -rf -- "$out"
  mkdir -- "$out"
  options+=(--junit "$out/junit.xml" --summary "$out/summary.md")
fi
# No file but those of the project is read, wherever a spec points.
export HARNESS_ONLY_BELOW=$PWD
set -f # names of specs are apart by blanks, and no patterns
# shellcheck disable=SC2086
harness compare "${options[@]}" -- ${SPECS:-}
