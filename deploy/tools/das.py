# SPDX-License-Identifier: Apache-2.0
"""deploy/das: slices of GPUs as the seed's deploy folder has them (docs/spec/das.md 13): manifests in their order, a kustomization of
the same, and the OLM bundle. All of it from the program: kinds, roles, the webhook's registration."""

import json

from kinds import dump, load_all

NAMESPACE = "das-operator"
GROUP = "inference.redhat.com"
SERVICE, SECRET = "das-operator-webhook", "webhook-server-cert"
IMAGE, AGENT_IMAGE = "athanor", "athanor-agent"
# A scheduler is of its API server's minor version, or one before: scripts/das puts in the cluster's own.
SCHEDULER_IMAGE = "registry.k8s.io/kube-scheduler:v1.35.4"
ACCOUNTS = ("das-operator", "das-extender", "das-scheduler", "das-daemonset")
RELATED = {"DAEMONSET": AGENT_IMAGE, "SCHEDULER": SCHEDULER_IMAGE}
# The API server's roles system:kube-scheduler and system:volume-scheduler; the Lease is in the Role.
SCHEDULER_RULES = [
    (["", "events.k8s.io"], ["events"], ["create", "patch", "update"]),
    ([""], ["nodes", "namespaces", "replicationcontrollers", "services"], ["get", "list", "watch"]),
    ([""], ["pods"], ["get", "list", "watch", "delete"]),
    ([""], ["bindings", "pods/binding"], ["create"]),
    ([""], ["pods/status"], ["patch", "update"]),
    ([""], ["pods/finalizers"], ["update"]),
    ([""], ["persistentvolumeclaims", "persistentvolumes"], ["get", "list", "watch", "patch", "update"]),
    (["apps", "extensions"], ["replicasets"], ["get", "list", "watch"]),
    (["apps"], ["statefulsets"], ["get", "list", "watch"]),
    (["authentication.k8s.io"], ["tokenreviews"], ["create"]),
    (["authorization.k8s.io"], ["subjectaccessreviews"], ["create"]),
    (["policy"], ["poddisruptionbudgets"], ["get", "list", "watch"]),
    (["resource.k8s.io"], ["deviceclasses", "resourceslices"], ["get", "list", "watch"]),
    (["resource.k8s.io"], ["resourceclaims", "resourceclaims/status"], ["get", "list", "watch", "patch", "update"]),
    (["storage.k8s.io"], ["csidrivers", "csinodes", "csistoragecapacities", "storageclasses", "volumeattachments"], ["get", "list", "watch"]),
]
# docs/spec/das.md 1: the Lease of the part that decides about slices, and the times of both Leases.
SCHEDULER_LEASE = "das-scheduler-lock"
LEASE_TIMES = ("--lease-duration=137s", "--renew-deadline=107s", "--retry-period=26s")
# What each agent may write, by node. OLM's bundles hold no object of this kind: there the operator makes it.
POLICY = "ValidatingAdmissionPolicy"
# Roles of people: Kubernetes adds them to its own view, edit and admin.
PEOPLE = "02_people.yaml"
# Applied where monitoring.coreos.com is served.
MONITORING = "06_monitoring.yaml"
DESCRIPTIONS = {
    "AllocationClaim": "A GPU slice that is held for one pod.",
    "DASOperator": "The configuration of the slicer; only the object named cluster counts.",
    "NodeAccelerator": "The accelerators of one node and the placements that they allow.",
}
FALSE_FEATURES = ["disconnected", "fips-compliant", "proxy-aware", "cnf", "cni", "csi", "token-auth-aws", "token-auth-azure", "token-auth-gcp"]


def labels(name, **more):
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "das-operator", **more}


def container(name, args, ports, env=()):
    return {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": args,
        "env": [
            *({"name": key, "value": value} for key, value in env),
            *({"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in (("POD_NAME", "metadata.name"), ("POD_NAMESPACE", "metadata.namespace"))),
        ],
        "ports": [{"name": key, "containerPort": port, "protocol": "TCP"} for key, port in ports],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "initialDelaySeconds": 15, "periodSeconds": 20},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}, "initialDelaySeconds": 5, "periodSeconds": 10},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
    }


def deployment(name, account, one):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels(name)},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels(name)},
            "template": {
                "metadata": {"labels": labels(name)},
                "spec": {
                    "serviceAccountName": account,
                    "priorityClassName": "system-cluster-critical",
                    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                    "affinity": {
                        "podAntiAffinity": {
                            "preferredDuringSchedulingIgnoredDuringExecution": [
                                {"weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels(name)}}}
                            ]
                        }
                    },
                    "containers": [one],
                },
            },
        },
    }


def service(name, selects, port, target):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels(name)},
        "spec": {"selector": labels(selects), "ports": [{"name": "https", "port": port, "targetPort": target, "protocol": "TCP"}]},
    }


# docs/spec/das.md 11, V6: the port of each component's pods, all of them HTTPS.
MONITORED = {"das-operator": "metrics", "das-extender": "metrics", "das-scheduler": "https", "das-daemonset": "https"}
METRICS_PORTS = {"das-operator": 8444, "das-extender": 8444, "das-scheduler": 10259, "das-daemonset": 8443}
# What the operator's own pods are selected by.
OPERANDS = {"das-scheduler": {"app": "das-scheduler"}, "das-daemonset": {"name": "das-daemonset"}}


def metrics_service(name):
    """A Service without address: it names the pods to a Prometheus."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"{name}-metrics", "namespace": NAMESPACE, "labels": labels(f"{name}-metrics")},
        "spec": {
            "clusterIP": "None",
            "selector": OPERANDS.get(name, labels(name)),
            "ports": [{"name": "metrics", "port": METRICS_PORTS[name], "targetPort": MONITORED[name], "protocol": "TCP"}],
        },
    }


def service_monitor(name):
    secure = {"bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token", "tlsConfig": {"insecureSkipVerify": True}}
    # Alerts and dashboards of deploy/kustomize/components/accelerators select jobs by this prefix.
    job = [{"targetLabel": "job", "replacement": f"athanor-{name}"}]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels(name)},
        "spec": {
            "selector": {"matchLabels": labels(f"{name}-metrics")},
            "endpoints": [{"port": "metrics", "scheme": "https", "interval": "15s", **secure, "relabelings": job}],
        },
    }


def reviewers():
    """The operator asks the API server who reads its metrics."""
    rules = [
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    ]
    return role("ClusterRole", "das-operator-metrics", rules, "das-operator")


def operator():
    args = [
        "controllers",
        "--controllers=das",
        "--all-namespaces",
        "--leader-elect=true",
        "--leader-elect-resource-name=instaslice-operator-lock",
        *LEASE_TIMES,
        "--metrics-address=:8444",
        "--metrics-secure=true",
        "--health-address=:8080",
        "--webhook-address=:8443",
        f"--webhook-service={SERVICE}",
        f"--webhook-secret={SECRET}",
        f"--webhook-host=das-extender.{NAMESPACE}.svc",
    ]
    # What the seed's deploy recipe forgets: the operator has to know the mode.
    env = [("OPERATOR_NAME", "das-operator"), ("INSTASLICE_NAMESPACE", NAMESPACE), ("EMULATED_MODE", "disabled")]
    env += [(f"RELATED_IMAGE_{part}_IMAGE", image) for part, image in RELATED.items()]
    return deployment("das-operator", "das-operator", container("das-operator", args, [("health", 8080), ("https", 8443), ("metrics", 8444)], env))


def extender():
    """Serves with the webhook's certificate, which names it, too."""
    args = [
        "extender",
        "--systems=das",
        "--address=:9443",
        "--tls-cert-file=/etc/das-extender/tls.crt",
        "--tls-private-key-file=/etc/das-extender/tls.key",
        f"--leader-elect-resource-name={SCHEDULER_LEASE}",
        *LEASE_TIMES,
        "--metrics-address=:8444",
        "--metrics-secure=true",
        "--health-address=:8080",
    ]
    one = container("das-extender", args, [("health", 8080), ("extender", 9443), ("metrics", 8444)], [("INSTASLICE_NAMESPACE", NAMESPACE)])
    one["volumeMounts"] = [{"name": "certificate", "mountPath": "/etc/das-extender", "readOnly": True}]
    made = deployment("das-extender", "das-extender", one)
    made["spec"]["template"]["spec"]["volumes"] = [{"name": "certificate", "secret": {"secretName": SECRET}}]
    return made


def moved(objects, account):
    """Roles of the program under the names that the seed's roles have."""
    for one in objects:
        meta = one["metadata"]
        meta["name"] = account + meta["name"].removeprefix("athanor-extender").removeprefix(account)
        meta["labels"] = labels("das-operator")
        for subject in one.get("subjects", []):
            subject.update(name=account, namespace=NAMESPACE)
        if "roleRef" in one:
            one["roleRef"]["name"] = account + one["roleRef"]["name"].removeprefix("athanor-extender").removeprefix(account)
    return objects


def role(kind, name, rules, account_name, namespace=None, bound=None):
    """A role with its binding to an account; with `bound` the binding alone, to a role that the cluster has."""
    meta = {"name": name, **({"namespace": namespace} if namespace else {}), "labels": labels("das-operator")}
    group = "rbac.authorization.k8s.io"
    made = [] if bound else [{"apiVersion": f"{group}/v1", "kind": kind, "metadata": meta, "rules": rules}]
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": f"{kind}Binding",
        "metadata": meta,
        "roleRef": {"apiGroup": group, "kind": kind, "name": bound or name},
        "subjects": [{"kind": "ServiceAccount", "name": account_name, "namespace": NAMESPACE}],
    }
    return [*made, binding]


def scheduler_roles():
    """What kube-scheduler needs under an account of ours."""
    rules = [{"apiGroups": groups, "resources": resources, "verbs": verbs} for groups, resources, verbs in SCHEDULER_RULES]
    lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    own = [{**lease, "verbs": ["create"]}, {**lease, "resourceNames": ["das-scheduler"], "verbs": ["get", "update", "patch"]}]
    return [
        *role("ClusterRole", "das-scheduler", rules, "das-scheduler"),
        *role("Role", "das-scheduler", own, "das-scheduler", NAMESPACE),
        *role("Role", "das-scheduler-authentication-reader", None, "das-scheduler", "kube-system", "extension-apiserver-authentication-reader"),
    ]


def privileged():
    """The agent makes slices, which takes a privileged pod; OpenShift wants to be asked. Its own role of this content is nowhere else."""
    rules = [{"apiGroups": ["security.openshift.io"], "resources": ["securitycontextconstraints"], "resourceNames": ["privileged"], "verbs": ["use"]}]
    return role("ClusterRole", "das-operator-privileged-scc", rules, "das-daemonset")


def configuration():
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "DASOperator",
        "metadata": {"name": "cluster", "namespace": NAMESPACE},
        "spec": {"managementState": "Managed", "logLevel": "Normal", "operatorLogLevel": "Normal"},
    }


def account(name):
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels("das-operator")}}


def manifests(output_of, athanor, agent):
    """By file name, in the order in which they are applied."""
    crds = load_all(output_of(athanor, "crds", "--group", GROUP, "-o", "yaml"))
    rbac = load_all(
        output_of(athanor, "rbac", "--controllers", "das", "--install-namespace", NAMESPACE, "--name", "das-operator",
                  "--leader-elect-resource-name", "instaslice-operator-lock", "--webhooks", "--webhook-secret", SECRET)
    )  # fmt: skip
    asked = load_all(output_of(athanor, "extender", "--systems=das", "--print-rbac", "--metrics-secure", "--leader-elect-resource-name", SCHEDULER_LEASE))
    on_nodes = load_all(output_of(agent, "rbac", "--namespace", NAMESPACE))
    people = load_all(output_of(athanor, "rbac", "--people", "--controllers", "das", "--name", "das"))
    registration = load_all(output_of(athanor, "webhooks", "--controllers", "das", "--install-namespace", NAMESPACE, "--service", SERVICE))
    hooks = [one for one in registration if one["kind"].endswith("WebhookConfiguration")]
    for hook in hooks:
        hook["metadata"]["labels"] = labels("das-operator")
        for entry in hook["webhooks"]:
            entry["clientConfig"]["service"]["port"] = 8443
    printed = moved(rbac, "das-operator") + moved(asked, "das-extender") + moved(on_nodes, "das-daemonset")
    policies = [one for one in printed if one["kind"].startswith(POLICY)]
    kept = [one for one in printed if one["kind"] != "ServiceAccount" and one not in policies] + reviewers() + scheduler_roles()
    return {
        **{f"00_{one['spec']['names']['plural']}.crd.yaml": [one] for one in sorted(crds, key=lambda one: one["metadata"]["name"])},
        "01_namespace.yaml": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {"openshift.io/cluster-monitoring": "true"}}}
        ],
        "01_operator_sa.yaml": [account(one) for one in ACCOUNTS],
        "01_operator_use_privileged_scc.yaml": privileged(),
        "02_operator_rbac.yaml": kept,
        "02_own_node_policy.yaml": policies,
        PEOPLE: people,
        "03_instaslice_operator.cr.yaml": [configuration()],
        "04_deployment.yaml": [
            operator(),
            service(SERVICE, "das-operator", 8443, "https"),
            extender(),
            service("das-extender", "das-extender", 9443, "extender"),
            *map(metrics_service, MONITORED),
        ],
        "05_webhook.yaml": hooks,
        MONITORING: [service_monitor(one) for one in MONITORED],
    }


def rules_of(objects, account_name, cluster):
    """OLM grants rights in its own namespace or everywhere: those in another namespace are granted everywhere."""
    roles = [one for one in objects if one["kind"].endswith("Role") and one["metadata"]["name"].removesuffix("-own").removesuffix("-metrics") == account_name]
    rules = [rule for one in roles if (one["metadata"].get("namespace") != NAMESPACE) == cluster for rule in one["rules"]]
    return [{"serviceAccountName": account_name, "rules": rules}] if rules else []


def service_version(files, version):
    crds = [one for name, (one, *_) in files.items() if name.endswith(".crd.yaml")]
    (use_constraints, _) = files["01_operator_use_privileged_scc.yaml"]
    roles = [*files["02_operator_rbac.yaml"], {**use_constraints, "metadata": {"name": "das-daemonset"}}]
    deployments = [one for one in files["04_deployment.yaml"] if one["kind"] == "Deployment"]
    images = [("daemonset-image", AGENT_IMAGE), ("webhook-image", IMAGE), ("scheduler-image", SCHEDULER_IMAGE)]
    owned = [
        {
            "name": one["metadata"]["name"],
            "kind": one["spec"]["names"]["kind"],
            "version": one["spec"]["versions"][0]["name"],
            "displayName": one["spec"]["names"]["kind"],
            "description": DESCRIPTIONS[one["spec"]["names"]["kind"]],
        }
        for one in crds
    ]
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"das-operator.v{version}",
            "namespace": NAMESPACE,
            "annotations": {
                "alm-examples": json.dumps([configuration()], indent=2),
                "capabilities": "Basic Install",
                "categories": "Drivers and plugins",
                "operatorframework.io/suggested-namespace": NAMESPACE,
                **{f"features.operators.openshift.io/{one}": "false" for one in FALSE_FEATURES},
                "features.operators.openshift.io/tls-profiles": "true",
            },
        },
        "spec": {
            "displayName": "Dynamic Accelerator Slicer",
            "description": "Makes slices of GPUs when pods ask for them, and removes them afterwards.",
            "version": version,
            "maturity": "alpha",
            "minKubeVersion": "1.16.0",
            "provider": {"name": "Athanor"},
            "installModes": [
                {"type": one, "supported": one == "AllNamespaces"} for one in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
            ],
            "customresourcedefinitions": {"owned": owned},
            "install": {
                "strategy": "deployment",
                "spec": {
                    "clusterPermissions": [one for name in ACCOUNTS for one in rules_of(roles, name, True)],
                    "permissions": [one for name in ACCOUNTS for one in rules_of(roles, name, False)],
                    "deployments": [{"name": one["metadata"]["name"], "label": one["metadata"]["labels"], "spec": one["spec"]} for one in deployments],
                },
            },
            "relatedImages": [{"name": key, "image": image} for key, image in images],
        },
    }


def bundle(files, version):
    annotations = {
        "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
        "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
        "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
        "operators.operatorframework.io.bundle.package.v1": "das-operator",
        "operators.operatorframework.io.bundle.channels.v1": "alpha",
        "operators.operatorframework.io.bundle.channel.default.v1": "alpha",
    }
    # OLM makes accounts with their roles, and the namespace; services and roles of people are objects of their own.
    objects = [one for one in files["04_deployment.yaml"] if one["kind"] == "Service"]
    text = {
        "manifests/das-operator.clusterserviceversion.yaml": dump(service_version(files, version)),
        **{f"manifests/{one['metadata']['name']}.crd.yaml": dump(one) for name, (one, *_) in files.items() if name.endswith(".crd.yaml")},
        **{f"manifests/{one['metadata']['name']}.service.yaml": dump(one) for one in objects},
        **{f"manifests/{one['metadata']['name']}.clusterrole.yaml": dump(one) for one in files[PEOPLE]},
        "metadata/annotations.yaml": dump({"annotations": annotations}),
    }
    dockerfile = ["FROM scratch", *(f"LABEL {key}={value}" for key, value in annotations.items()), "COPY manifests /manifests/", "COPY metadata /metadata/"]
    return {**text, "Dockerfile": "\n".join(dockerfile) + "\n"}


def das(files, version, generated):
    """Every file below deploy/das, of manifests()."""
    text = {f"das/{name}": generated + "---\n".join(map(dump, objects)) for name, objects in files.items()}
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": [one for one in files if one != MONITORING]}
    text["das/kustomization.yaml"] = generated + dump(kustomization)
    return {**text, **{f"das/bundle/{name}": generated + one for name, one in bundle(files, version).items()}}
