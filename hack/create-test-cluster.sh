#!/usr/bin/env bash
# create-test-cluster.sh: upstream's name for a cluster to try AppWrappers on; here the embedded one of scripts/dev, with Kueue in it. It
# prints the variable that clients need; scripts/dev teardown ends it.
set -euo pipefail
cd "$(dirname "$0")/.."
exec scripts/dev setup
