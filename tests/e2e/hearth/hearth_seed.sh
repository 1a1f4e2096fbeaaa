#!/usr/bin/env bash
# hearth_seed.sh KUBECONFIG_OF_THE_NEW_CLUSTER: the commands of Hearth's seed document (onboard, lock, troubleshoot, offboard), with
# kubectl on $KUBECONFIG, each with what has to come of it. Needs the FournosCluster definition, Kueue with the ClusterQueue and LocalQueue
# fournos-queue, and Hearth. SEED_OFFBOARDING=manual: Hearth runs with HEARTH_OFFBOARDING=manual, and people clean up.
set -euo pipefail
# shellcheck source=tests/e2e/seed.sh
. "$(dirname "$0")/../seed.sh"
new_kubeconfig=$1
cluster=${SEED_CLUSTER:-edge}
hearth=${HEARTH_NAMESPACE:-hearth} secrets=${HEARTH_SECRETS_NAMESPACE:-psap-secrets} jobs=${HEARTH_EXECUTION_NAMESPACE:-psap-automation}
queue=${HEARTH_KUEUE_CLUSTER_QUEUE_NAME:-fournos-queue}
prefix=${HEARTH_LOCK_JOB_PREFIX:-cluster-lock-}
kubectl=${KUBECTL:-kubectl}

fail() {
  echo "FAILED: $*" >&2
  $kubectl get fc "$cluster" -n "$hearth" -o yaml >&2 || true
  exit 1
}
field() { $kubectl get fc "$cluster" -n "$hearth" -o "jsonpath={$1}"; }
quota() { # of the cluster's flavor, by resource
  $kubectl get clusterqueue "$queue" -o json |
    python3 -c 'import json,sys
for group in json.load(sys.stdin)["spec"].get("resourceGroups", []):
    for flavor in group["flavors"]:
        if flavor["name"] == sys.argv[1]:
            print(" ".join("%s=%s" % (r["name"].split("/")[-1], r["nominalQuota"]) for r in flavor["resources"] if str(r["nominalQuota"]) != "0"))' "$cluster"
}
workload_state() { $kubectl get workload test-blocked-job -n "$jobs" -o 'jsonpath={.status.conditions[?(@.type=="Admitted")].status}'; }
workload_messages() { $kubectl get workload test-blocked-job -n "$jobs" -o 'jsonpath={.status.conditions[*].message}'; }

say "1. Onboard: a Secret, then its label"
$kubectl create secret generic "kubeconfig-$cluster" -n "$secrets" --from-file=kubeconfig="$new_kubeconfig"
[ -z "$($kubectl get fc "$cluster" -n "$hearth" --ignore-not-found -o name)" ] || fail "there is a cluster before the label"
$kubectl label secret "kubeconfig-$cluster" -n "$secrets" fournos.dev/cluster-kubeconfig=true
becomes Valid field .status.kubeconfigStatus
contains "NAME " $kubectl get fc -n "$hearth"
$kubectl get fc -n "$hearth" | awk 'NR == 1' | tr -s ' ' | grep -qx 'NAME OWNER GPUS KUBECONFIG LOCKED AGE *' || fail "other columns"
becomes "${SEED_GPUS:-8x L40S}" field .status.gpuSummary
becomes True field '.status.conditions[?(@.type=="GPUDiscovered")].status'
becomes "resourceflavor.kueue.x-k8s.io/$cluster" $kubectl get resourceflavor "$cluster" -o name
becomes "{\"fournos.dev/cluster\":\"$cluster\"}" $kubectl get resourceflavor "$cluster" -o 'jsonpath={.spec.nodeLabels}'
becomes "${SEED_QUOTA:-cluster-slot=100 gpu-l40s=8}" quota
becomes true field '.metadata.labels.fournos\.dev/auto-discovered'

say "2. Lock"
$kubectl patch fc "$cluster" -n "$hearth" --type=merge -p '{"spec":{"owner":"alice","ttl":"30m"}}'
becomes true field .status.locked
becomes "$prefix$cluster" field .status.lockJobName
becomes Held field .status.lockState
becomes Admitted $kubectl get fournosjob "$prefix$cluster" -n "$jobs" -o 'jsonpath={.status.phase}'
becomes "Cluster lock held on $cluster" $kubectl get fournosjob "$prefix$cluster" -n "$jobs" -o 'jsonpath={.status.message}'
# The state, the job's name and the end are one write.
[ -n "$(field .status.lockExpiresAt)" ] || fail "a lock with a time has no end"

say "3. The seed's verification: a job is blocked while the cluster is locked"
$kubectl apply -f - <<YAML
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: test-blocked-job, namespace: $jobs}
spec:
  queueName: $queue
  podSets:
  - name: launcher
    count: 1
    template:
      spec:
        nodeSelector: {fournos.dev/cluster: $cluster}
        restartPolicy: Never
        containers:
        - {name: launcher, image: busybox, resources: {requests: {fournos/cluster-slot: "1"}}}
YAML
contains "insufficient unused quota for fournos/cluster-slot in flavor $cluster" workload_messages
[ "$(workload_state)" != True ] || fail "admitted on a locked cluster"

say "4. Hand over, then unlock: the job goes on"
$kubectl patch fc "$cluster" -n "$hearth" --type=merge -p '{"spec":{"owner":"bob"}}'
becomes bob $kubectl get fournosjob "$prefix$cluster" -n "$jobs" -o 'jsonpath={.spec.owner}'
$kubectl patch fc "$cluster" -n "$hearth" --type=merge -p '{"spec":{"owner":""}}'
becomes false field .status.locked
becomes True workload_state
becomes "" field .status.lockJobName
$kubectl delete workload test-blocked-job -n "$jobs"

say "5. Troubleshooting: the Secret goes and comes back"
$kubectl delete secret "kubeconfig-$cluster" -n "$secrets"
becomes Missing field .status.kubeconfigStatus
contains "not found in $secrets" field '.status.conditions[?(@.type=="KubeconfigValid")].message'
becomes "${SEED_QUOTA:-cluster-slot=100 gpu-l40s=8}" quota
$kubectl create secret generic "kubeconfig-$cluster" -n "$secrets" --from-literal=kubeconfig='{}'
becomes Invalid field .status.kubeconfigStatus
$kubectl create secret generic "kubeconfig-$cluster" -n "$secrets" --from-file=kubeconfig="$new_kubeconfig" --dry-run=client -o yaml | $kubectl apply -f -
$kubectl label secret "kubeconfig-$cluster" -n "$secrets" fournos.dev/cluster-kubeconfig=true --overwrite
becomes Valid field .status.kubeconfigStatus

say "6. Offboard"
if [ "${SEED_OFFBOARDING:-auto}" = manual ]; then
  $kubectl delete fc "$cluster" -n "$hearth"
  becomes "resourceflavor.kueue.x-k8s.io/$cluster" $kubectl get resourceflavor "$cluster" -o name
  becomes "${SEED_QUOTA:-cluster-slot=100 gpu-l40s=8}" quota
  $kubectl delete resourceflavor "$cluster" --wait=false
  rest=$($kubectl get clusterqueue "$queue" -o json | python3 -c 'import json,sys
groups = json.load(sys.stdin)["spec"]["resourceGroups"]
for group in groups:
    group["flavors"] = [f for f in group["flavors"] if f["name"] != sys.argv[1]]
print(json.dumps({"spec": {"resourceGroups": [g for g in groups if g["flavors"]]}}))' "$cluster")
  $kubectl patch clusterqueue "$queue" --type=merge -p "$rest"
  becomes "" $kubectl get resourceflavor "$cluster" --ignore-not-found -o name
else
  $kubectl delete fc "$cluster" -n "$hearth" --timeout="${limit}s"
  becomes "" $kubectl get resourceflavor "$cluster" --ignore-not-found -o name
  [ -n "$($kubectl get secret "kubeconfig-$cluster" -n "$secrets" -o 'jsonpath={.metadata.annotations.fournos\.dev/offboarded}')" ] ||
    fail "the Secret is not marked as offboarded"
fi
becomes "" quota
$kubectl delete secret "kubeconfig-$cluster" -n "$secrets"
say "done"
