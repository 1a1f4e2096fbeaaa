#!/usr/bin/env bash
# appwrapper_seed.sh: the first contact with AppWrapper (docs/spec/appwrapper.md 9.3, 12.1) with kubectl on $KUBECONFIG, each command
# with its expected outcome. Runs from the root of the repository on `athanor up` with nothing else set up. SEED_NAMESPACE: another
# namespace than the kubeconfig's.
set -euo pipefail
# shellcheck source=tests/e2e/seed.sh
. "$(dirname "$0")/../seed.sh"
kubectl="${KUBECTL:-kubectl} ${SEED_NAMESPACE:+--namespace=$SEED_NAMESPACE}"

fail() {
  echo "FAILED: $*" >&2
  $kubectl get appwrappers,workloads,pods -o yaml >&2 || true
  exit 1
}
aw() { $kubectl get aw sample -o "jsonpath={$1}"; }
condition() { aw ".status.conditions[?(@.type==\"$1\")].$2"; }
pod() { $kubectl get pod sample -o "jsonpath={$1}"; }
workload() { $kubectl get workloads -o "jsonpath={.items[0].$1}"; }

say "1. Queues"
$kubectl get localqueues,clusterqueues -o wide
becomes cluster-queue $kubectl get localqueue user-queue -o 'jsonpath={.spec.clusterQueue}'
becomes cluster-queue $kubectl get localqueue default-queue -o 'jsonpath={.spec.clusterQueue}'
becomes 9 $kubectl get clusterqueue cluster-queue -o 'jsonpath={.spec.resourceGroups[0].flavors[0].resources[?(@.name=="cpu")].nominalQuota}'

say "2. Apply"
$kubectl apply -f samples/appwrapper.yaml
becomes Running aw .status.phase
$kubectl get appwrappers
$kubectl get appwrappers | awk 'NR == 1' | tr -s ' ' | grep -qx 'NAME STATUS QUOTA RESERVED RESOURCES DEPLOYED UNHEALTHY AGE *' || fail "other columns"
becomes True condition QuotaReserved status
becomes True condition ResourcesDeployed status
becomes Running pod .status.phase
$kubectl get pods
becomes sample pod '.metadata.labels.workload\.codeflare\.dev/appwrapper'
becomes SufficientPodsReady condition PodsReady reason
becomes sample-0 aw '.spec.components[0].podSetInfos[0].labels.kueue\.x-k8s\.io/podset'
becomes True workload 'status.conditions[?(@.type=="Admitted")].status'
[[ $(workload metadata.name) =~ ^appwrapper-sample-[0-9a-f]{5}$ ]] || fail "the Workload is called $(workload metadata.name)"

say "3. Succeeded after five seconds"
becomes Succeeded aw .status.phase
becomes False condition QuotaReserved status
becomes "1 pods succeeded and no running, pending, or failed pods" condition QuotaReserved message
becomes True condition ResourcesDeployed status
becomes Succeeded pod .status.phase
becomes Succeeded workload 'status.conditions[?(@.type=="Finished")].reason'
becomes "AppWrapper finished successfully" workload 'status.conditions[?(@.type=="Finished")].message'
$kubectl get aw sample --no-headers | tr -s ' ' | grep -q '^sample Succeeded False True False ' || fail "another row: $($kubectl get aw sample --no-headers)"

say "4. Delete"
$kubectl delete -f samples/appwrapper.yaml --timeout="${limit}s"
becomes "" $kubectl get appwrappers,pods,workloads -o name
say "done"
