#!/usr/bin/env bash
# What action.yml runs, in the project's folder, for the site: builds it, and copies it without links to what is uploaded.
set -euo pipefail
export HARNESS_ONLY_BELOW=$PWD
harness site ${PROFILE:+--profile "$PROFILE"}
if [ -n "${RUNNER_TEMP:-}" ]; then
  out=$RUNNER_TEMP/claims
  find -P reports -mindepth 2 -maxdepth 2 -name site -type d -print0 | while IFS= read -r -d '' site; do
    mkdir -p -- "$out/$(dirname -- "$site")"
    cp -RP -- "$site" "$out/$site"
  done
  find -P "$out" -type l -delete
fi
