#!/usr/bin/env bash
# hearth_seed.sh KUBECONFIG_OF_THE_NEW_CLUSTER: the commands of Hearth's seed document (onboard, lock, troubleshoot, offboard), with
# kubectl on $KUBECONFIG, each with what has to come of it. Needs the FournosCluster definition, Kueue with the ClusterQueue and LocalQueue
# fournos-queue, and Hearth. SEED_OFFBOARDING=manual: Hearth runs with HEARTH_OFFBOARDING=manual, and people clean up.
set -euo pipefail
new_kubeconfig=$1
cluster=${SEED_CLUSTER:-edge}
hearth=${HEARTH_NAMESPACE:-hearth} secrets=${HEARTH_SECRETS_NAMESPACE:-psap-secrets} jobs=${HEARTH_EXECUTION_NAMESPACE:-psap-automation}
queue=${HEARTH_KUEUE_CLUSTER_QUEUE_NAME:-fournos-queue}
prefix=${HEARTH_LOCK_JOB_PREFIX:-cluster-lock-}
kubectl=${KUBECTL:-kubectl}

say() { printf '\n== %s\n' "$*"; }
fail() {
  echo "FAILED: $*" >&2
  $kubectl get fc "$cluster" -n "$hearth" -o yaml >&2 || true
  exit 1
}
# becomes SECONDS EXPECTED COMMAND...: the command's output is EXPECTED within that time.
becomes() {
  local limit=$1 expected=$2 seen= end
  shift 2
  end=$((SECONDS + limit))
  while :; do
    seen=$("$@" 2>&1) || true
    [ "$seen" = "$expected" ] && return 0
    [ $SECONDS -lt $end ] || fail "$* says \"$seen\", not \"$expected\", after $limit s"
    sleep 0.1
  done
}
contains() { # contains SECONDS PART COMMAND...
  local limit=$1 part=$2 seen= end
  shift 2
  end=$((SECONDS + limit))
  while :; do
    seen=$("$@" 2>&1) || true
    [[ $seen == *"$part"* ]] && return 0
    [ $SECONDS -lt $end ] || fail "$* says \"$seen\", which has no \"$part\", after $limit s"
    sleep 0.1
  done
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
limit=${SEED_LIMIT:-60} # seconds, for each: a shared machine is slow

say "1. Onboard: a Secret, then its label"
$kubectl create secret generic "kubeconfig-$cluster" -n "$secrets" --from-file=kubeconfig="$new_kubeconfig"
[ -z "$($kubectl get fc "$cluster" -n "$hearth" --ignore-not-found -o name)" ] || fail "there is a cluster before the label"
$kubectl label secret "kubeconfig-$cluster" -n "$secrets" fournos.dev/cluster-kubeconfig=true
becomes "$limit" Valid field .status.kubeconfigStatus
contains "$limit" "NAME " $kubectl get fc -n "$hearth"
$kubectl get fc -n "$hearth" | awk 'NR == 1' | tr -s ' ' | grep -qx 'NAME OWNER GPUS KUBECONFIG LOCKED AGE *' || fail "other columns"
becomes "$limit" "${SEED_GPUS:-8x L40S}" field .status.gpuSummary
becomes "$limit" True field '.status.conditions[?(@.type=="GPUDiscovered")].status'
becomes "$limit" "resourceflavor.kueue.x-k8s.io/$cluster" $kubectl get resourceflavor "$cluster" -o name
becomes "$limit" "{\"fournos.dev/cluster\":\"$cluster\"}" $kubectl get resourceflavor "$cluster" -o 'jsonpath={.spec.nodeLabels}'
becomes "$limit" "${SEED_QUOTA:-cluster-slot=100 gpu-l40s=8}" quota
becomes "$limit" true field '.metadata.labels.fournos\.dev/auto-discovered'

say "2. Lock"
$kubectl patch fc "$cluster" -n "$hearth" --type=merge -p '{"spec":{"owner":"alice","ttl":"30m"}}'
becomes "$limit" true field .status.locked
becomes "$limit" "$prefix$cluster" field .status.lockJobName
becomes "$limit" Held field .status.lockState
becomes "$limit" Admitted $kubectl get fournosjob "$prefix$cluster" -n "$jobs" -o 'jsonpath={.status.phase}'
becomes "$limit" "Cluster lock held on $cluster" $kubectl get fournosjob "$prefix$cluster" -n "$jobs" -o 'jsonpath={.status.message}'
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
contains "$limit" "insufficient unused quota for fournos/cluster-slot in flavor $cluster" workload_messages
[ "$(workload_state)" != True ] || fail "admitted on a locked cluster"

say "4. Hand over, then unlock: the job goes on"
$kubectl patch fc "$cluster" -n "$hearth" --type=merge -p '{"spec":{"owner":"bob"}}'
becomes "$limit" bob $kubectl get fournosjob "$prefix$cluster" -n "$jobs" -o 'jsonpath={.spec.owner}'
$kubectl patch fc "$cluster" -n "$hearth" --type=merge -p '{"spec":{"owner":""}}'
becomes "$limit" false field .status.locked
becomes "$limit" True workload_state
becomes "$limit" "" field .status.lockJobName
$kubectl delete workload test-blocked-job -n "$jobs"

say "5. Troubleshooting: the Secret goes and comes back"
$kubectl delete secret "kubeconfig-$cluster" -n "$secrets"
becomes "$limit" Missing field .status.kubeconfigStatus
contains "$limit" "not found in $secrets" field '.status.conditions[?(@.type=="KubeconfigValid")].message'
becomes "$limit" "${SEED_QUOTA:-cluster-slot=100 gpu-l40s=8}" quota
$kubectl create secret generic "kubeconfig-$cluster" -n "$secrets" --from-literal=kubeconfig='{}'
becomes "$limit" Invalid field .status.kubeconfigStatus
$kubectl create secret generic "kubeconfig-$cluster" -n "$secrets" --from-file=kubeconfig="$new_kubeconfig" --dry-run=client -o yaml | $kubectl apply -f -
$kubectl label secret "kubeconfig-$cluster" -n "$secrets" fournos.dev/cluster-kubeconfig=true --overwrite
becomes "$limit" Valid field .status.kubeconfigStatus

say "6. Offboard"
if [ "${SEED_OFFBOARDING:-auto}" = manual ]; then
  $kubectl delete fc "$cluster" -n "$hearth"
  becomes "$limit" "resourceflavor.kueue.x-k8s.io/$cluster" $kubectl get resourceflavor "$cluster" -o name
  becomes "$limit" "${SEED_QUOTA:-cluster-slot=100 gpu-l40s=8}" quota
  $kubectl delete resourceflavor "$cluster" --wait=false
  rest=$($kubectl get clusterqueue "$queue" -o json | python3 -c 'import json,sys
groups = json.load(sys.stdin)["spec"]["resourceGroups"]
for group in groups:
    group["flavors"] = [f for f in group["flavors"] if f["name"] != sys.argv[1]]
print(json.dumps({"spec": {"resourceGroups": [g for g in groups if g["flavors"]]}}))' "$cluster")
  $kubectl patch clusterqueue "$queue" --type=merge -p "$rest"
  becomes "$limit" "" $kubectl get resourceflavor "$cluster" --ignore-not-found -o name
else
  $kubectl delete fc "$cluster" -n "$hearth" --timeout="${limit}s"
  becomes "$limit" "" $kubectl get resourceflavor "$cluster" --ignore-not-found -o name
  [ -n "$($kubectl get secret "kubeconfig-$cluster" -n "$secrets" -o 'jsonpath={.metadata.annotations.fournos\.dev/offboarded}')" ] ||
    fail "the Secret is not marked as offboarded"
fi
becomes "$limit" "" quota
$kubectl delete secret "kubeconfig-$cluster" -n "$secrets"
say "done"
