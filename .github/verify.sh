#!/usr/bin/env bash
# What action.yml runs: exit 1 where a verdict is not the accepted one. PROFILE and SPECS may be empty.
set -euo pipefail
options=(--quiet --junit claims-junit.xml --summary claims-summary.md)
if [ -n "${PROFILE:-}" ]; then options+=(--profile "$PROFILE"); fi
# shellcheck disable=SC2086  # several specs are apart by blanks
harness compare "${options[@]}" ${SPECS:-}
