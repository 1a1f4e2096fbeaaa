# SPDX-License-Identifier: Apache-2.0
"""The kinds of the stream, and random valid objects of each. Everything is drawn from the generator that is handed in."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One resource, as paths and bodies name it."""

    group: str
    version: str
    plural: str
    kind: str
    make: object  # function(rng) → the object without kind, apiVersion and metadata
    namespaced: bool = True
    status: object = None  # function(rng) → a status; None: there is no such subresource
    scale: bool = False
    weight: int = 3
    custom: bool = False
    put_creates: bool = False

    @property
    def api_version(self):
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self):
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, ns, name=None, sub=None):
        parts = [self.root]
        if self.namespaced and ns is not None:
            parts.append(f"namespaces/{ns}")
        parts.append(self.plural)
        parts += [p for p in (name, sub) if p]
        return "/".join(parts)


STORAGE_CLASS = {
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "athanor.io/local", "volumeBindingMode": "Immediate",
}
WORDS = ["a", "b", "c", "red", "blue", "x1"]


def some(rng, maker, low=0, high=3):
    return [maker(rng) for _ in range(rng.randint(low, high))]


def maybe(rng, value, chance=0.5):
    """{} or the value, for ** in a literal; the value is made either way, so that draws stay in step."""
    return value if rng.random() < chance else {}


def strings(rng, high=3):
    return {rng.choice(WORDS): rng.choice(["1", "two", "", "x y", "true", "ü", "<&>"]) for _ in range(rng.randint(0, high))}


def labels(rng, low=0):
    return {rng.choice(["app", "tier", "ex.com/k", "n"]): rng.choice(["a", "b", "1", ""]) for _ in range(rng.randint(low, 2))}


def config_map(rng):
    return {"data": strings(rng), **maybe(rng, {"binaryData": {"bin": "AAEC"}}, 0.2), **maybe(rng, {"immutable": rng.random() < 0.3}, 0.2)}


def secret(rng):
    kind = rng.choice(["Opaque", "Opaque", "", "ex.com/x", "kubernetes.io/tls", "kubernetes.io/basic-auth", "kubernetes.io/dockerconfigjson", "kubernetes.io/ssh-auth"])
    data = {
        "kubernetes.io/tls": {"tls.crt": "YQ==", "tls.key": "YQ=="},
        "kubernetes.io/basic-auth": {"username": "YQ=="},
        "kubernetes.io/dockerconfigjson": {".dockerconfigjson": "e30="},
        "kubernetes.io/ssh-auth": {"ssh-privatekey": "YQ=="},
    }.get(kind, {"k": "YQ=="})
    return {**({"type": kind} if kind else {}), "data": data, **maybe(rng, {"stringData": {"s": rng.choice(["1", "", "ü"])}}, 0.3)}


def resources(rng):
    return rng.choice([
        {}, {"requests": {"cpu": "100m"}}, {"limits": {"cpu": "1", "memory": "1Gi"}}, {"requests": {"cpu": 0.5, "memory": "64Mi"}, "limits": {"cpu": 2}},
        {"limits": {"nvidia.com/gpu": 1}}, {"requests": {"memory": "1024Mi", "ephemeral-storage": "1e3"}},
    ])


def probe(rng):
    how = rng.choice([{"httpGet": {"port": 80}}, {"httpGet": {"path": "/x", "port": "http", "scheme": "HTTPS"}}, {"tcpSocket": {"port": 1}}, {"exec": {"command": ["true"]}}, {"grpc": {"port": 5}}])
    return {**how, **maybe(rng, {"periodSeconds": rng.randint(1, 9), "initialDelaySeconds": 1})}


def env(rng):
    return rng.choice([
        {"name": "A", "value": "1"}, {"name": "B"}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "k", "optional": True}}}, {"name": "E", "valueFrom": {"secretKeyRef": {"name": "a", "key": "k"}}},
        {"name": "F", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ])


def container(rng, name):
    return {
        "name": name, "image": rng.choice(["busybox", "r.io/x:1", "r.io/x:latest", "r.io:5000/x@sha256:" + "0" * 64]),
        **maybe(rng, {"command": ["sh", "-c", "true"]}), **maybe(rng, {"resources": resources(rng)}), **maybe(rng, {"env": some(rng, env, 1)}),
        **maybe(rng, {"ports": rng.choice([[{"containerPort": 80}], [{"containerPort": 80, "name": "http"}, {"containerPort": 53, "protocol": "UDP"}]])}, 0.4),
        **maybe(rng, {"readinessProbe": probe(rng)}, 0.2), **maybe(rng, {"livenessProbe": probe(rng)}, 0.1),
        **maybe(rng, {"securityContext": rng.choice([{"privileged": True}, {"runAsUser": 0, "capabilities": {"add": ["NET_ADMIN"]}}, {"readOnlyRootFilesystem": True}])}, 0.2),
        **maybe(rng, {"lifecycle": {"preStop": {"exec": {"command": ["true"]}}}}, 0.1),
        **maybe(rng, {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, 0.2), **maybe(rng, {"imagePullPolicy": "Never"}, 0.1),
    }


def volume(rng):
    return {"name": "v", **rng.choice([
        {}, {"emptyDir": {}}, {"emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}, {"configMap": {"name": "a"}}, {"secret": {"secretName": "a", "defaultMode": 256}},
        {"hostPath": {"path": "/x"}}, {"persistentVolumeClaim": {"claimName": "a"}}, {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}}]}},
    ])}


def pod_spec(rng, restart=None):
    spec = {
        "containers": [container(rng, name) for name in ["c", "d"][: rng.choice([1, 1, 1, 2])]],
        "volumes": [volume(rng)],
        **maybe(rng, {"initContainers": [container(rng, "i")]}, 0.15),
        **maybe(rng, {"nodeSelector": {"disk": "ssd"}}, 0.2), **maybe(rng, {"terminationGracePeriodSeconds": rng.choice([0, 1, 60])}, 0.2),
        **maybe(rng, {"tolerations": [rng.choice([{"operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}])]}, 0.2),
        **maybe(rng, {"affinity": rng.choice([
            {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]}}},
            {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": {"topologyKey": "h", "labelSelector": {"matchLabels": {"a": "b"}}}}]}},
        ])}, 0.15),
        **maybe(rng, {"securityContext": rng.choice([{"runAsNonRoot": True, "fsGroup": 5}, {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}])}, 0.15),
        **maybe(rng, {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"a": "b"}}}]}, 0.1),
        **maybe(rng, {"priorityClassName": rng.choice(["system-node-critical", "nope"])}, 0.05), **maybe(rng, {"hostNetwork": True}, 0.1),
        **maybe(rng, {"schedulingGates": [{"name": "ex.com/g"}]}, 0.1), **maybe(rng, {"serviceAccountName": "default"}, 0.1),
        **maybe(rng, {"automountServiceAccountToken": False}, 0.2), **maybe(rng, {"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}]}, 0.1),
        **maybe(rng, {"dnsConfig": {"nameservers": ["1.1.1.1"], "options": [{"name": "ndots", "value": "2"}]}}, 0.1),
    }
    if restart is None:
        spec.update(maybe(rng, {"restartPolicy": rng.choice(["Always", "Never", "OnFailure"])}))
    elif restart:
        spec["restartPolicy"] = rng.choice(restart)
    return spec


def template(rng, want, restart=("Always",)):
    return {"metadata": {"labels": {**labels(rng), **want}}, "spec": pod_spec(rng, restart if rng.random() < 0.3 or restart != ("Always",) else ())}


def pod(rng):
    return {"spec": pod_spec(rng)}


def pod_status(rng):
    return {
        "phase": rng.choice(["Pending", "Running", "Succeeded"]), "conditions": [{"type": "Ready", "status": rng.choice(["True", "False"])}],
        **maybe(rng, {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}), **maybe(rng, {"message": "m", "hostIP": "1.1.1.1"}),
    }


def selected(rng):
    want = {"app": rng.choice(["a", "b"])}
    return want, {"matchLabels": want}


def deployment(rng):
    want, selector = selected(rng)
    return {"spec": {
        "selector": selector, "template": template(rng, want), **maybe(rng, {"replicas": rng.randint(0, 3)}),
        **maybe(rng, {"strategy": rng.choice([{"type": "Recreate"}, {"type": "RollingUpdate"}, {"rollingUpdate": {"maxSurge": 1}}, {"rollingUpdate": {"maxUnavailable": "50%"}, "type": "RollingUpdate"}])}),
        **maybe(rng, {"paused": True}, 0.2), **maybe(rng, {"minReadySeconds": 5}, 0.2), **maybe(rng, {"revisionHistoryLimit": 2}, 0.2),
    }}


def replicas_status(rng):
    count = rng.randint(0, 3)
    return {"replicas": count, "observedGeneration": 1, "readyReplicas": rng.randint(0, count), **maybe(rng, {"availableReplicas": 0}), **maybe(rng, {"conditions": [{"type": "X", "status": "True", "reason": "r", "message": "m"}]})}


def replica_set(rng):
    want, selector = selected(rng)
    return {"spec": {"selector": selector, "template": template(rng, want), **maybe(rng, {"replicas": rng.randint(0, 3)}), **maybe(rng, {"minReadySeconds": 1}, 0.2)}}


def stateful_set(rng):
    want, selector = selected(rng)
    return {"spec": {
        "selector": selector, "template": template(rng, want), "serviceName": "s", **maybe(rng, {"replicas": rng.randint(0, 3)}),
        **maybe(rng, {"updateStrategy": rng.choice([{"type": "OnDelete"}, {"rollingUpdate": {"partition": 1}}])}, 0.3), **maybe(rng, {"podManagementPolicy": "Parallel"}, 0.2),
        **maybe(rng, {"volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}, 0.3),
    }}


def daemon_set(rng):
    want, selector = selected(rng)
    return {"spec": {"selector": selector, "template": template(rng, want), **maybe(rng, {"updateStrategy": rng.choice([{"type": "OnDelete"}, {"rollingUpdate": {"maxUnavailable": "10%"}}])}, 0.3)}}


def daemon_set_status(rng):
    return {"currentNumberScheduled": 1, "numberMisscheduled": 0, "desiredNumberScheduled": rng.randint(0, 2), "numberReady": 0}


def job(rng):
    spec = {"template": template(rng, {}, ("Never", "OnFailure"))}
    spec.update(rng.choice([{}, {"completions": 3, "parallelism": 2}, {"completionMode": "Indexed", "completions": 2}, {"parallelism": 2}, {"suspend": True}, {"backoffLimit": 1}, {"ttlSecondsAfterFinished": 5}]))
    return {"spec": spec}


def job_status(rng):
    return {"active": rng.randint(0, 2), "ready": 0, **maybe(rng, {"startTime": "2020-01-01T00:00:00Z"}), **maybe(rng, {"failed": 1})}


def cron_job(rng):
    return {"spec": {
        "schedule": rng.choice(["* * * * *", "@hourly", "*/5 1-3 * JAN MON", "0 0 1 1 *"]), "jobTemplate": {"spec": {"template": template(rng, {}, ("Never",))}},
        **maybe(rng, {"concurrencyPolicy": "Forbid"}, 0.3), **maybe(rng, {"timeZone": "Etc/UTC"}, 0.2), **maybe(rng, {"suspend": True}, 0.3),
    }}


def service(rng):
    port = rng.choice([[{"port": 80}], [{"port": 80, "name": "a"}, {"port": 81, "name": "b", "targetPort": "x"}], [{"port": 53, "protocol": "UDP", "appProtocol": "ex.com/x"}]])
    return {"spec": {
        "selector": {"app": "a"}, "ports": port,
        **maybe(rng, rng.choice([{"type": "NodePort"}, {"clusterIP": "None"}, {"type": "LoadBalancer"}, {"type": "ExternalName", "externalName": "ex.com"}, {"sessionAffinity": "ClientIP"}, {"publishNotReadyAddresses": True}])),
    }}


def service_status(rng):
    return {"loadBalancer": rng.choice([{}, {"ingress": [{"ip": "1.2.3.4"}]}])}


def endpoints(rng):
    return {"subsets": some(rng, lambda r: {"addresses": [{"ip": r.choice(["1.2.3.4", "1.2.3.5"])}], "ports": [{"port": 80, **maybe(r, {"name": "n"})}]}, 0, 2)}


def endpoint_slice(rng):
    return {"addressType": "IPv4", "endpoints": some(rng, lambda r: {"addresses": ["1.2.3.4"], **maybe(r, {"conditions": {"ready": True}}), **maybe(r, {"nodeName": "n"})}, 0, 2), "ports": [{"port": 80, **maybe(rng, {"name": "n"})}]}


def service_account(rng):
    return {**maybe(rng, {"secrets": [{"name": "s"}]}), **maybe(rng, {"imagePullSecrets": [{"name": "p"}]}), **maybe(rng, {"automountServiceAccountToken": rng.random() < 0.5})}


def node(rng):
    return {"spec": {**maybe(rng, {"unschedulable": True}, 0.3), **maybe(rng, {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}), **maybe(rng, {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}, 0.3), **maybe(rng, {"providerID": "x://y"}, 0.2)}}


def node_status(rng):
    return {"capacity": {"cpu": rng.choice(["4", 8]), "memory": "1024Mi"}, "allocatable": {"cpu": "3500m"}, "conditions": [{"type": "Ready", "status": rng.choice(["True", "Unknown"])}], **maybe(rng, {"addresses": [{"type": "InternalIP", "address": "1.1.1.1"}]})}


def rule(rng):
    return rng.choice([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}, {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"], "resourceNames": ["x"]}])


def role(rng):
    return {"rules": some(rng, rule)}


def cluster_role(rng):
    return rng.choice([{"rules": some(rng, rule)}, {"rules": [{"nonResourceURLs": ["/x", "/y/*"], "verbs": ["get"]}]}])


def subject(rng):
    return rng.choice([{"kind": "User", "name": "u"}, {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}, {"kind": "ServiceAccount", "name": "s", "namespace": "default"}])


def role_binding(rng):
    return {"roleRef": rng.choice([{"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}, {"kind": "ClusterRole", "name": "view"}]), "subjects": some(rng, subject)}


def cluster_role_binding(rng):
    return {"roleRef": {"kind": "ClusterRole", "name": rng.choice(["view", "nope"]), "apiGroup": "rbac.authorization.k8s.io"}, "subjects": some(rng, subject)}


def lease(rng):
    return {"spec": {**maybe(rng, {"holderIdentity": rng.choice(["a", "b"])}), **maybe(rng, {"leaseDurationSeconds": 15, "leaseTransitions": 1}), **maybe(rng, {"renewTime": "2020-01-01T00:00:00.000001Z"})}}


def event(rng):
    return {
        "involvedObject": {"kind": "Pod", "namespace": "@ns", "name": "a"}, "reason": rng.choice(["R", "S"]), "message": "m", "type": rng.choice(["Normal", "Warning"]),
        **maybe(rng, {"source": {"component": "c"}}), **maybe(rng, {"firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-01T00:00:00Z", "count": 2}),
        **maybe(rng, {"reportingComponent": "ex.com/c", "reportingInstance": "i", "action": "Do", "eventTime": "2020-01-01T00:00:00.000001Z"}, 0.3),
    }


def new_event(rng):
    return {
        "regarding": {"kind": "Pod", "namespace": "@ns", "name": "a"}, "reason": "R", "note": "m", "type": rng.choice(["Normal", "Warning"]), "action": "Do",
        "reportingController": "ex.com/c", "reportingInstance": "i", "eventTime": "2020-01-01T00:00:00.000001Z", **maybe(rng, {"series": {"count": 3, "lastObservedTime": "2020-01-01T00:00:00.000002Z"}}),
    }


def claim(rng):
    return {"spec": {"accessModes": [rng.choice(["ReadWriteOnce", "ReadOnlyMany"])], "resources": {"requests": {"storage": rng.choice(["1Gi", "1024Mi", 5])}}, **maybe(rng, {"storageClassName": rng.choice(["", "s"])}), **maybe(rng, {"volumeName": "v"}, 0.2)}}


def volume_object(rng):
    return {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **rng.choice([{"hostPath": {"path": "/x"}}, {"nfs": {"server": "s", "path": "/x"}}]), **maybe(rng, {"persistentVolumeReclaimPolicy": "Delete"}, 0.3), **maybe(rng, {"storageClassName": "s"}, 0.3)}}


def quota(rng):
    return {"spec": {"hard": rng.choice([{"pods": "5"}, {"requests.cpu": "1", "limits.memory": "1Gi"}, {"count/configmaps": 10}, {"persistentvolumeclaims": "1"}]), **maybe(rng, {"scopes": ["BestEffort"]}, 0.0)}}


def limit_range(rng):
    return {"spec": {"limits": [rng.choice([{"type": "PersistentVolumeClaim", "max": {"storage": "100Gi"}}, {"type": "Container", "max": {"cpu": "8"}, "min": {"cpu": "10m"}}, {"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "100m"}}])]}}


def priority_class(rng):
    return {"value": rng.choice([0, 5, -1, 1000000000]), **maybe(rng, {"description": "d"}), **maybe(rng, {"preemptionPolicy": "Never"}, 0.3)}


def storage_class(rng):
    return {"provisioner": rng.choice(["ex.com/p", "kubernetes.io/no-provisioner"]), **maybe(rng, {"volumeBindingMode": "WaitForFirstConsumer"}), **maybe(rng, {"parameters": {"a": "b"}}, 0.3), **maybe(rng, {"allowVolumeExpansion": True}, 0.3)}


def runtime_class(rng):
    return {"handler": rng.choice(["h", "kata"]), **maybe(rng, {"overhead": {"podFixed": {"cpu": "10m"}}}, 0.3), **maybe(rng, {"scheduling": {"nodeSelector": {"a": "b"}}}, 0.3)}


def budget(rng):
    return {"spec": {"selector": {"matchLabels": {"app": "a"}}, **rng.choice([{"minAvailable": 1}, {"maxUnavailable": "50%"}, {"minAvailable": "10%"}])}}


def budget_status(rng):
    return {"currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": rng.randint(0, 1), "expectedPods": 1}


def autoscaler(rng):
    return {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}, "maxReplicas": rng.randint(1, 5), **maybe(rng, {"minReplicas": 1}),
                     **maybe(rng, {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]})}}


def autoscaler_v1(rng):
    return {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}, "maxReplicas": rng.randint(1, 5), **maybe(rng, {"targetCPUUtilizationPercentage": 50})}}


def network_policy(rng):
    return {"spec": {"podSelector": {**maybe(rng, {"matchLabels": {"a": "b"}})}, **maybe(rng, {"ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 80}]}]}), **maybe(rng, {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}, 0.3)}}


def ingress(rng):
    return {"spec": {**maybe(rng, {"ingressClassName": "c"}), "rules": [{"host": rng.choice(["ex.com", "*.ex.com"]), "http": {"paths": [{"path": "/", "pathType": rng.choice(["Prefix", "Exact"]), "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}}


def ingress_class(rng):
    return {"spec": {"controller": "ex.com/c", **maybe(rng, {"parameters": {"kind": "X", "name": "x", "apiGroup": "g.io"}}, 0.3)}}


def pod_template(rng):
    return {"template": template(rng, {"a": "b"})}


def replication_controller(rng):
    return {"spec": {"template": template(rng, {"app": "a"}), **maybe(rng, {"selector": {"app": "a"}}), **maybe(rng, {"replicas": rng.randint(0, 2)})}}


def controller_revision(rng):
    return {"revision": rng.randint(0, 3), "data": {"spec": {"x": 1}}}


def webhook_configuration(rng):
    return {"webhooks": [{
        "name": "w.ex.com", "clientConfig": rng.choice([{"url": "https://ex.com/x"}, {"service": {"name": "s", "namespace": "default"}}]), "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "rules": [{"apiGroups": ["no.such.group"], "apiVersions": ["v1"], "resources": ["x"], "operations": ["CREATE"]}], **maybe(rng, {"failurePolicy": "Ignore"}),
    }]}


def csi_driver(rng):
    return {"spec": {**maybe(rng, {"attachRequired": False}), **maybe(rng, {"podInfoOnMount": True})}}


def namespace(rng):
    return {**maybe(rng, {"spec": {"finalizers": ["kubernetes"]}}, 0.2)}


def device_class(rng):
    return {"spec": {**maybe(rng, {"selectors": [{"cel": {"expression": "device.driver == 'ex.com'"}}]})}}


def resource_claim(rng):
    return {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c.ex.com", **maybe(rng, {"count": 2})}}]}}}


def resource_slice(rng):
    return {"spec": {"driver": "ex.com", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n", "devices": [{"name": "d0", **maybe(rng, {"attributes": {"model": {"string": "x"}, "n": {"int": 3}}}), **maybe(rng, {"capacity": {"memory": {"value": "1Gi"}}})}]}}


def widget(rng):
    return {"spec": {
        **maybe(rng, {"size": rng.randint(0, 9)}, 0.8), **maybe(rng, {"color": rng.choice(["red", "blue"])}), **maybe(rng, {"name": rng.choice(["abc", "a"])}),
        **maybe(rng, {"items": [{"id": i, "v": rng.choice(["x", "y"])} for i in WORDS[: rng.randint(0, 3)]]}), **maybe(rng, {"tags": WORDS[: rng.randint(0, 3)]}),
        **maybe(rng, {"plain": [1, 2]}, 0.3), **maybe(rng, {"free": {"a": {"b": [1, {"c": None}]}}}, 0.3), **maybe(rng, {"port": rng.choice([80, "http"])}, 0.3),
        **maybe(rng, {"maybe": rng.choice([None, "x"])}, 0.3), **maybe(rng, {"replicas": rng.randint(0, 3)}), **maybe(rng, {"min": rng.randint(0, 4), "max": rng.randint(3, 9)}, 0.3),
        **maybe(rng, {"ratio": rng.choice([0.5, 1, 2.0])}, 0.2), **maybe(rng, {"when": "2020-01-01T00:00:00Z"}, 0.2), **maybe(rng, {"atomicMap": {"a": "1", "b": rng.choice(["1", "2"])}}, 0.3),
        **maybe(rng, {"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}}, 0.1), **maybe(rng, {"big": 9007199254740993}, 0.1), **maybe(rng, {"nested": {}}, 0.2),
    }}


def widget_status(rng):
    return {"phase": rng.choice(["A", "B"]), "replicas": rng.randint(0, 2), **maybe(rng, {"conditions": [{"type": "Ready", "status": "True"}]})}


def validation_policy(rng):
    return {"spec": {"matchConstraints": {"resourceRules": [{"apiGroups": ["no.such"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]}]}, "validations": [{"expression": rng.choice(["true", "object.metadata.name != 'x'"])}]}}


CRD_GROUP = "diff.example.com"


def kinds():
    apps, rbac, storage = "apps", "rbac.authorization.k8s.io", "storage.k8s.io"
    return [
        Kind("", "v1", "configmaps", "ConfigMap", config_map, weight=14),
        Kind("", "v1", "secrets", "Secret", secret, weight=6),
        Kind("", "v1", "pods", "Pod", pod, status=pod_status, weight=12),
        Kind(apps, "v1", "deployments", "Deployment", deployment, status=replicas_status, scale=True, weight=10),
        Kind(apps, "v1", "replicasets", "ReplicaSet", replica_set, status=replicas_status, scale=True),
        Kind(apps, "v1", "statefulsets", "StatefulSet", stateful_set, status=replicas_status, scale=True),
        Kind(apps, "v1", "daemonsets", "DaemonSet", daemon_set, status=daemon_set_status),
        Kind(apps, "v1", "controllerrevisions", "ControllerRevision", controller_revision, weight=1),
        Kind("batch", "v1", "jobs", "Job", job, status=job_status, weight=6),
        Kind("batch", "v1", "cronjobs", "CronJob", cron_job, status=lambda rng: {"lastScheduleTime": "2020-01-01T00:00:00Z"}),
        Kind("", "v1", "services", "Service", service, status=service_status, weight=8, put_creates=True),
        Kind("", "v1", "endpoints", "Endpoints", endpoints, weight=2, put_creates=True),
        Kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", endpoint_slice, weight=2),
        Kind("", "v1", "serviceaccounts", "ServiceAccount", service_account, weight=3),
        Kind("", "v1", "nodes", "Node", node, namespaced=False, status=node_status, weight=4),
        Kind("", "v1", "namespaces", "Namespace", namespace, namespaced=False, status=lambda rng: {"phase": "Active"}, weight=3),
        Kind(rbac, "v1", "roles", "Role", role, weight=3, put_creates=True),
        Kind(rbac, "v1", "rolebindings", "RoleBinding", role_binding, weight=2, put_creates=True),
        Kind(rbac, "v1", "clusterroles", "ClusterRole", cluster_role, namespaced=False, weight=2, put_creates=True),
        Kind(rbac, "v1", "clusterrolebindings", "ClusterRoleBinding", cluster_role_binding, namespaced=False, weight=1, put_creates=True),
        Kind("coordination.k8s.io", "v1", "leases", "Lease", lease, weight=5, put_creates=True),
        Kind("", "v1", "events", "Event", event, weight=3, put_creates=True),
        Kind("events.k8s.io", "v1", "events", "Event", new_event, weight=2, put_creates=True),
        Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", claim, status=lambda rng: {"phase": "Pending"}),
        Kind("", "v1", "persistentvolumes", "PersistentVolume", volume_object, namespaced=False, status=lambda rng: {"phase": rng.choice(["Available", "Bound"])}, weight=2),
        Kind("", "v1", "resourcequotas", "ResourceQuota", quota, status=lambda rng: {"hard": {}, "used": {}}, weight=1),
        Kind("", "v1", "limitranges", "LimitRange", limit_range, weight=1, put_creates=True),
        Kind("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", priority_class, namespaced=False, weight=2),
        Kind(storage, "v1", "storageclasses", "StorageClass", storage_class, namespaced=False, weight=2),
        Kind(storage, "v1", "csidrivers", "CSIDriver", csi_driver, namespaced=False, weight=1),
        Kind("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", runtime_class, namespaced=False, weight=1, put_creates=True),
        Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", budget, status=budget_status, weight=2),
        Kind("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", autoscaler, weight=2, status=lambda rng: {"desiredReplicas": 1, "currentReplicas": 1, "currentMetrics": None}),
        Kind("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler", autoscaler_v1, weight=1),
        Kind("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", network_policy, weight=1),
        Kind("networking.k8s.io", "v1", "ingresses", "Ingress", ingress, weight=1, status=service_status),
        Kind("networking.k8s.io", "v1", "ingressclasses", "IngressClass", ingress_class, namespaced=False, weight=1),
        Kind("", "v1", "podtemplates", "PodTemplate", pod_template, weight=1),
        Kind("", "v1", "replicationcontrollers", "ReplicationController", replication_controller, weight=1, status=replicas_status, scale=True),
        Kind("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", webhook_configuration, namespaced=False, weight=1),
        Kind("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", webhook_configuration, namespaced=False, weight=1),
        Kind("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", validation_policy, namespaced=False, weight=1),
        Kind("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", device_class, namespaced=False, weight=1),
        Kind("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", resource_claim, weight=1),
        Kind("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", resource_slice, namespaced=False, weight=1),
        Kind(CRD_GROUP, "v1", "widgets", "Widget", widget, status=widget_status, scale=True, weight=14, custom=True),
        Kind(CRD_GROUP, "v1beta1", "widgets", "Widget", widget, status=widget_status, scale=True, weight=2, custom=True),
        Kind(CRD_GROUP, "v1", "gadgets", "Gadget", lambda rng: {"spec": {"any": rng.choice([1, "x", None, [1], {"a": 1}])}, **maybe(rng, {"status": {"x": 1}})}, namespaced=False, weight=3, custom=True),
    ]


def crds():
    """The two custom kinds: Widget with a rich schema, two versions and every subresource; Gadget with next to none."""
    string, integer = {"type": "string"}, {"type": "integer"}
    spec = {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "!has(self.min) || !has(self.max) || self.min <= self.max", "message": "min must not exceed max"}],
        "properties": {
            "size": {**integer, "minimum": 0, "maximum": 100, "default": 3}, "color": {**string, "enum": ["red", "blue", "green"]}, "name": {**string, "pattern": "^[a-z]+$", "maxLength": 5, "minLength": 1},
            "items": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"], "items": {"type": "object", "required": ["id"], "properties": {"id": string, "v": {**string, "default": "dv"}, "w": integer}}},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": string}, "plain": {"type": "array", "items": integer}, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "port": {"x-kubernetes-int-or-string": True}, "maybe": {**string, "nullable": True}, "replicas": {**integer, "format": "int32"}, "min": integer, "max": integer, "ratio": {"type": "number"},
            "when": {**string, "format": "date-time"}, "atomicMap": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": string}, "big": {**integer, "format": "int64"},
            "embedded": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
            "nested": {"type": "object", "default": {}, "properties": {"deep": {**string, "default": "d"}}},
            "fixed": {**string, "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}]},
        },
    }
    status = {"type": "object", "properties": {"phase": string, "replicas": integer, "conditions": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": {"type": "object", "required": ["type", "status"], "properties": {"type": string, "status": string, "message": string}}}}}
    version = {
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}, {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1}],
        "selectableFields": [{"jsonPath": ".spec.color"}],
    }
    old = {**version, "name": "v1beta1", "storage": False, "deprecated": True}
    widget_crd = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"widgets.{CRD_GROUP}"},
        "spec": {"group": CRD_GROUP, "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]}, "versions": [version, old]},
    }
    gadget_crd = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"gadgets.{CRD_GROUP}"},
        "spec": {"group": CRD_GROUP, "scope": "Cluster", "names": {"plural": "gadgets", "kind": "Gadget"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]},
    }
    return [widget_crd, gadget_crd]
