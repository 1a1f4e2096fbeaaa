#!/usr/bin/env bash
# run-tests-on-cluster.sh: the black-box tests of AppWrappers; each has an embedded cluster of its own (WORDS: of their names).
set -euo pipefail
cd "$(dirname "$0")/.."
exec scripts/test e2e "${1:-appwrapper}"
