#!/usr/bin/env bash
# numa_seed.sh: operator and scheduler samples (docs/spec/numa.md 15), a NodeResourceTopology for each worker, then scenarios N1 to N3
# (section 18) with kubectl alone on $KUBECONFIG. Needs two workers of two zones each with policy single-numa-node, scope container:
# examples/numa/lab.yaml.
set -euo pipefail
# shellcheck source=tests/e2e/seed.sh
. "$(dirname "$0")/../seed.sh"
here=$(cd "$(dirname "$0")" && pwd)
examples=${NUMA_EXAMPLES:-$here/../../../examples/numa}
kubectl=${KUBECTL:-kubectl}
ns=${NUMA_NAMESPACE:-numaresources}

fail() {
  echo "FAILED: $*" >&2
  $kubectl get numaresourcesoperators,numaresourcesschedulers,noderesourcetopologies -o yaml >&2 || true
  $kubectl get pods,daemonsets,deployments,events -A >&2 || true
  exit 1
}
state() { $kubectl get "$1" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].status}"; }
# free RESOURCE: "worker-1/node-0=6 ...", what every zone has available.
free() {
  $kubectl get noderesourcetopologies -o json | python3 -c 'import json,sys
print(" ".join("%s/%s=%s" % (node["metadata"]["name"], zone["name"], resource["available"])
  for node in json.load(sys.stdin)["items"] for zone in node["zones"] for resource in zone["resources"] if resource["name"] == sys.argv[1]))' "$1"
}
# pod NAME SCHEDULER CPU MEMORY: a Guaranteed pod.
pod() {
  $kubectl apply -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  schedulerName: $2
  terminationGracePeriodSeconds: 0
  containers:
  - name: c
    image: pause:3.9
    resources: {requests: {cpu: $3, memory: $4}, limits: {cpu: $3, memory: $4}}
YAML
}
of_pod() { $kubectl get pod "$1" -o "jsonpath={$2}"; }

say "1. The samples (A1); another name is refused (A3)"
$kubectl apply -f "$examples/operator.yaml" -f "$examples/scheduler.yaml"
becomes True state numaresourcesoperator/numaresourcesoperator Available
becomes True state numaresourcesoperator/numaresourcesoperator Upgradeable
becomes True state numaresourcesscheduler/numaresourcesscheduler Available
becomes numaresourcesoperator-worker $kubectl get numaresop numaresourcesoperator -o 'jsonpath={.status.daemonsets[*].name}'
becomes 10s $kubectl get numaresop numaresourcesoperator -o 'jsonpath={.status.nodeGroups[0].config.infoRefreshPeriod}'
becomes topo-aware-scheduler $kubectl get numaressched numaresourcesscheduler -o 'jsonpath={.status.schedulerName}'
becomes "worker-1 worker-2" $kubectl get noderesourcetopologies -o 'jsonpath={.items[*].metadata.name}'
becomes "2" $kubectl get daemonset numaresourcesoperator-worker -n "$ns" -o 'jsonpath={.status.numberReady}'
initial="worker-1/node-0=6 worker-1/node-1=12 worker-2/node-0=6 worker-2/node-1=12"
becomes "$initial" free cpu
refused=$($kubectl apply -f - 2>&1 <<YAML || true
apiVersion: nodetopology.openshift.io/v1
kind: NUMAResourcesOperator
metadata: {name: foo}
YAML
)
[[ $refused == *"This is a singleton resource and the object name must be 'numaresourcesoperator'."* ]] || fail "another name: $refused"

say "2. N1: a pod that fits one zone of one worker alone"
pod filler topo-aware-scheduler 10 1Gi # leaves 2 cpus in a zone of 12: the other worker has the only one
becomes Running of_pod filler .status.phase
first=$(of_pod filler .spec.nodeName)
other=$([ "$first" = worker-1 ] && echo worker-2 || echo worker-1)
after_filler=${initial/$first\/node-1=12/$first/node-1=2}
becomes "$after_filler" free cpu
pod n1 topo-aware-scheduler 11 2Gi
becomes Running of_pod n1 .status.phase
becomes "$other" of_pod n1 .spec.nodeName
becomes "${after_filler/$other\/node-1=12/$other/node-1=1}" free cpu
contains "$other/node-1=15032385536" free memory
$kubectl delete pod n1 filler
becomes "$initial" free cpu

say "3. N2: larger than any zone, smaller than the node"
before=$($kubectl get noderesourcetopologies -o 'jsonpath={.items[*].metadata.resourceVersion}')
pod n2 topo-aware-scheduler 14 1Gi
contains "cannot align container" of_pod n2 '.status.conditions[?(@.type=="PodScheduled")].message'
contains "cannot align container" $kubectl get events --field-selector reason=FailedScheduling,involvedObject.name=n2 -o 'jsonpath={.items[*].message}'
becomes topo-aware-scheduler $kubectl get events --field-selector reason=FailedScheduling,involvedObject.name=n2 -o 'jsonpath={.items[0].reportingComponent}'
becomes Pending of_pod n2 .status.phase
[ "$before" = "$($kubectl get noderesourcetopologies -o 'jsonpath={.items[*].metadata.resourceVersion}')" ] || fail "zones changed for a pending pod"
$kubectl delete pod n2

say "4. N3: the same pod through the default scheduler is bound, and its node rejects it"
pod n3 default-scheduler 14 1Gi
becomes Failed of_pod n3 .status.phase
becomes TopologyAffinityError of_pod n3 .status.reason
becomes "Pod was rejected: Resources cannot be allocated with Topology locality" of_pod n3 .status.message
contains "Pod was rejected" $kubectl get events --field-selector reason=TopologyAffinityError -o 'jsonpath={.items[*].message}'
becomes "$initial" free cpu
$kubectl delete pod n3
say "done"
