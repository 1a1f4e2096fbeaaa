#!/usr/bin/env bash
# das_seed.sh DATA: the commands of the DAS seed document in emulated mode, with kubectl on $KUBECONFIG, each with what has to come of it.
# Runs where `test/` holds the seed's pods; DATA is the lab's data directory, whose nodes/NODE is the file system of an emulated node.
set -euo pipefail
# shellcheck source=tests/e2e/seed.sh
. "$(dirname "$0")/../seed.sh"
data=$1
ns=${DAS_NAMESPACE:-das-operator}
node=${SEED_NODE:-gpu-node}
kubectl=${KUBECTL:-kubectl}

fail() {
  echo "FAILED: $*" >&2
  $kubectl get pods -A -o wide >&2 || true
  $kubectl get allocationclaims -n "$ns" -o yaml >&2 || true
  exit 1
}
states() { # sorted: the order of names is that of the pods' UIDs
  $kubectl get allocationclaims -n "$ns" -o 'jsonpath={range .items[*]}{.status.state}@{.spec.migPlacement.start}+{.spec.migPlacement.size}{"\n"}{end}' | sort | tr '\n' ' '
}
files() { find "$data/nodes/$node/var/run/cdi" -name '*.cdi.json' 2>/dev/null | wc -l | tr -d ' '; }
operator() { $kubectl get dasoperator cluster -n "$ns" -o "jsonpath={$1}"; }

say "1. The operator and its operands"
becomes True operator '.status.conditions[?(@.type=="Available")].status'
becomes False operator '.status.conditions[?(@.type=="Progressing")].status'
becomes False operator '.status.conditions[?(@.type=="Degraded")].status'
for part in das-daemonset das-operator das-operator-webhook das-scheduler; do
  contains "$part" $kubectl get pods -n "$ns"
done
becomes "" $kubectl get pods -n "$ns" --field-selector=status.phase!=Running -o name
contains EMULATED_MODE $kubectl get daemonset das-daemonset -n "$ns" -o 'jsonpath={.spec.template.spec.containers[0].env[*].name}'
becomes "NVIDIA A100-PCIE-40GB NVIDIA A100-PCIE-40GB" $kubectl get nodeaccelerator "$node" -n "$ns" -o 'jsonpath={.status.nodeResources.nodeGpus[*].gpuName}'
becomes 14 $kubectl get node "$node" -o 'jsonpath={.status.allocatable.mig\.das\.com/1g\.5gb}'

say "2. A pod with a slice"
$kubectl apply -f test/test-pod-emulated.yaml
becomes Running $kubectl get pod test-pod-emulated -o 'jsonpath={.status.phase}'
becomes das-scheduler $kubectl get pod test-pod-emulated -o 'jsonpath={.spec.schedulerName}'
becomes '{"mig.das.com/1g.5gb":"1"}' $kubectl get pod test-pod-emulated -o 'jsonpath={.spec.containers[0].resources.limits}'
$kubectl get allocationclaims -n "$ns" -o yaml
becomes "inUse@0+1 " states
contains NVIDIA_VISIBLE_DEVICES=test $kubectl logs test-pod-emulated
contains CUDA_VISIBLE_DEVICES=0 $kubectl logs test-pod-emulated
becomes 1 files
grep -q '"kind":"mig.das.com/c1g.5gb"' "$data/nodes/$node/var/run/cdi/"*.cdi.json || fail "the CDI file has another kind"
$kubectl get pods -n "$ns"

say "3. More pods, until the GPUs are full"
$kubectl apply -f test/test-pod-multi-resource.yaml
becomes "inUse@0+1 inUse@1+1 inUse@2+1 " states
$kubectl apply -f test/test-deployment.yaml
becomes 2 $kubectl get deployment test-deployment -o 'jsonpath={.status.readyReplicas}'
$kubectl scale deployment test-deployment --replicas=12
becomes 11 $kubectl get deployment test-deployment -o 'jsonpath={.status.readyReplicas}'
contains "Insufficient mig.das.com/1g.5gb" $kubectl get pods -l app=test-deployment -o 'jsonpath={.items[*].status.conditions[?(@.type=="PodScheduled")].message}'
[ "$(states | wc -w | tr -d ' ')" = 14 ] || fail "not 14 claims"
$kubectl delete pod test-pod-emulated --wait=false
becomes 12 $kubectl get deployment test-deployment -o 'jsonpath={.status.readyReplicas}'

say "4. operatorLogLevel: Debug"
$kubectl patch dasoperator cluster -n "$ns" --type=merge -p '{"spec":{"operatorLogLevel":"Debug"}}'
contains 'Operator log level changed from "Normal" to "Debug"' $kubectl get events -n "$ns" -o 'jsonpath={.items[?(@.reason=="OperatorLogLevelChange")].message}'

say "5. A deleted policy comes back"
$kubectl delete networkpolicy das-deny-all -n "$ns"
becomes networkpolicy.networking.k8s.io/das-deny-all $kubectl get networkpolicy das-deny-all -n "$ns" -o name
$kubectl patch deployment das-scheduler -n "$ns" --type=merge -p '{"spec":{"replicas":1}}'
becomes 2 $kubectl get deployment das-scheduler -n "$ns" -o 'jsonpath={.spec.replicas}'

say "6. Undeploy"
$kubectl patch dasoperator cluster -n "$ns" --type=merge -p '{"spec":{"managementState":"Removed"}}'
contains "AllocationClaims in use" operator '.status.conditions[?(@.type=="RemovalBlocked")].message'
$kubectl delete -f test/test-deployment.yaml -f test/test-pod-multi-resource.yaml --wait=false
becomes "" $kubectl get allocationclaims -n "$ns" -o name
becomes 0 files
becomes "" $kubectl get daemonsets,networkpolicies -n "$ns" -o name
becomes "deployment.apps/das-operator" $kubectl get deployments -n "$ns" -o name
becomes "" $kubectl get node "$node" -o 'jsonpath={.status.allocatable.mig\.das\.com/1g\.5gb}'
$kubectl delete dasoperator cluster -n "$ns"
$kubectl delete namespace "$ns" --timeout="${limit}s"
say "done"
