#!/usr/bin/env bash
# deploy-kueue.sh: makes the queues of the samples on the cluster of KUBECONFIG, unless it has them. Kueue itself is part of the embedded
# cluster; another cluster gets it from Kueue's own documentation.
set -euo pipefail
cd "$(dirname "$0")/.."
kubectl=${KUBECTL:-$(scripts/kubectl)}
if ! "$kubectl" get crd clusterqueues.kueue.x-k8s.io -o name >/dev/null 2>&1; then
  echo "deploy-kueue: this cluster has no Kueue: see https://kueue.sigs.k8s.io/docs/installation, or hack/create-test-cluster.sh" >&2
  exit 1
fi
if "$kubectl" get localqueue user-queue -n default -o name >/dev/null 2>&1; then
  echo "the cluster has Kueue and the queues of the samples"
else
  exec "$kubectl" apply --server-side --force-conflicts -f examples/appwrapper/queues.yaml
fi
