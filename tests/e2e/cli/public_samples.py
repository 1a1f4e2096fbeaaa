# SPDX-License-Identifier: Apache-2.0
"""Inputs of the shape of public samples: Kueue's site/static/examples, AppWrapper's samples, Tekton's examples/v1. The names are theirs; the
fields are those that decide what becomes of a sample. Times are shorter. Each has its end: the state of its object, or why it waits."""

from dataclasses import dataclass

QUEUE = "kueue.x-k8s.io/queue-name"
RBAC = "rbac.authorization.k8s.io/v1"
AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.53"
BUSYBOX = "quay.io/project-codeflare/busybox:1.36"
MNIST = "docker.io/kubeflowkatib/pytorch-mnist:v1beta1-45c5727"
NGINX = "registry.k8s.io/nginx-slim:0.27"


@dataclass
class Sample:
    objects: list
    # Succeeded, Failed, Running; Repeats; Waiting: by `says` of athanor queue --explain; Stuck: by the pods; Refused: by kubectl; Active; Taken: stored, no more
    end: str
    says: str = ""  # in what athanor, the events or kubectl say


def container(image, *, cpu=None, memory=None, gpu=None, **more):
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory), ("nvidia.com/gpu", gpu)) if value}
    resources = {"requests": requests, **({"limits": {"nvidia.com/gpu": gpu}} if gpu else {})}
    return {"name": more.pop("name", "c"), "image": image, "resources": resources, **more}


def named(name, queue="user-queue", **more):
    metadata = {"generateName": name} if name.endswith("-") else {"name": name}
    return {**metadata, "namespace": "default", **({"labels": {QUEUE: queue}} if queue else {}), **more}


def pod_spec(one, restart="Never", **more):
    return {"restartPolicy": restart, "containers": [one], **more}


def job(name, one, *, count=1, queue="user-queue", metadata=None, **spec):
    meta = {**named(name, queue), **(metadata or {})}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"parallelism": count, "completions": count, **spec, "template": {"spec": pod_spec(one)}}}


def pod(name, one, **more):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named(name, **more.pop("metadata", {})), "spec": pod_spec(one, **more)}


def wrapper(name, *templates, queue="user-queue", pod_sets=None, annotations=None):
    """An AppWrapper; annotations with upstream's prefix."""
    meta = named(name, queue, annotations={f"workload.codeflare.dev.appwrapper/{key}": value for key, value in (annotations or {}).items()})
    components = [{"template": one, **({"podSets": pod_sets} if pod_sets else {})} for one in templates]
    return {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": meta, "spec": {"components": components}}


def bare(one):
    """An object within an AppWrapper."""
    return {**one, "metadata": {key: value for key, value in one["metadata"].items() if key == "name"}}


def sh(script, image=BUSYBOX, **more):
    return container(image, command=["sh", "-c", script], **more)


def deployment(name, replicas, one):
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [one]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}}


def stateful_set(name, replicas, one):
    made = deployment(name, replicas, one)
    return {**made, "kind": "StatefulSet", "spec": {**made["spec"], "serviceName": name}}


def queued(one, queue="user-queue"):
    """With a namespace and the label."""
    return {**one, "metadata": named(one["metadata"]["name"], queue)}


def cron_job(name, one, *, count=1):
    """The label is on the Jobs. Each minute in the sample, which is too long for a test."""
    spec = {"parallelism": count, "completions": count, "template": {"spec": pod_spec(one)}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": named(name, queue=None), "spec": {
        "schedule": "@every 2s", "jobTemplate": {"metadata": {"labels": {QUEUE: "user-queue"}}, "spec": spec}}}  # fmt: skip


def unknown(api_version, kind, name):
    """An object of a kind that the lab does not define; kubectl refuses it before it reads the spec."""
    return Sample([{"apiVersion": api_version, "kind": kind, "metadata": named(name), "spec": {}}], "Refused", f'no matches for kind "{kind}" in version "{api_version}"')


def job_set(name, *groups, **metadata):
    """Replicated jobs: (name, count, container)."""
    jobs = [{"name": group, "template": {"spec": {"parallelism": n, "completions": n, "backoffLimit": 0, "template": {"spec": pod_spec(one)}}}} for group, n, one in groups]
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": named(name, **metadata), "spec": {"replicatedJobs": jobs}}


def pytorch(name, master, worker, restart="OnFailure", **metadata):
    replicas = {role: {"replicas": 1, "restartPolicy": restart, "template": {"spec": {"containers": [one]}}} for role, one in (("Master", master), ("Worker", worker))}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": named(name, **metadata), "spec": {"pytorchReplicaSpecs": replicas}}


def leader_worker_set(name, **metadata):
    leader, worker = container(NGINX, cpu="100m", name="leader"), container("nginx:1.14.2", cpu="200m", name="worker")
    groups = {"leaderTemplate": {"spec": {"containers": [leader]}}, "size": 3, "workerTemplate": {"spec": {"containers": [worker]}}}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": named(name, **metadata), "spec": {"replicas": 2, "leaderWorkerTemplate": groups}}


def ray_cluster_spec(**head):
    stop = {"preStop": {"exec": {"command": ["/bin/sh", "-c", "ray stop"]}}}
    group = lambda name, **more: {"rayStartParams": {}, "template": {"spec": {"containers": [container("rayproject/ray:2.9.0", cpu="1", memory="1G", name=name, lifecycle=stop)]}}, **more}  # noqa: E731
    return {"rayVersion": "2.9.0", "headGroupSpec": group("ray-head", **head), "workerGroupSpecs": [group("ray-worker", groupName="small-group", replicas=1, minReplicas=1, maxReplicas=10)]}


def ray_job(name):
    """With its code in a ConfigMap, as the sample's page applies it first."""
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ray-job-code-sample", "namespace": "default"}, "data": {"sample_code.py": "import ray\n"}}
    image, resources = "rayproject/ray:2.52.0", {"limits": {"cpu": "1", "memory": "5Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}}
    head = {"name": "ray-head", "image": image, "ports": [{"containerPort": 8265, "name": "dashboard"}], "resources": resources,
            "volumeMounts": [{"mountPath": "/home/ray/samples", "name": "code-sample"}]}  # fmt: skip
    volume = {"name": "code-sample", "configMap": {"name": "ray-job-code-sample", "items": [{"key": "sample_code.py", "path": "sample_code.py"}]}}
    worker = {**container(image, cpu="200m", name="ray-worker"), "lifecycle": {"preStop": {"exec": {"command": ["/bin/sh", "-c", "ray stop"]}}}}
    cluster = {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": {"spec": {"containers": [head], "volumes": [volume]}}},
        "workerGroupSpecs": [
            {"groupName": "small-group", "replicas": 1, "minReplicas": 1, "maxReplicas": 5, "rayStartParams": {}, "template": {"spec": {"containers": [worker]}}}
        ],
    }
    spec = {"shutdownAfterJobFinishes": True, "entrypoint": "python /home/ray/samples/sample_code.py", "runtimeEnvYAML": "env_vars: {counter_name: test_counter}\n", "rayClusterSpec": cluster}
    return [code, {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": named(name), "spec": spec}]


def flavor_of(name, **spec):
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def queue_of(name, flavor, more=None, **quotas):
    group = {"coveredResources": list(quotas), "flavors": [{"name": flavor, "resources": [{"name": key, "nominalQuota": value} for key, value in quotas.items()]}]}
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {"namespaceSelector": {}, "resourceGroups": [group], **(more or {})}}


def local_queue(name, cluster_queue, **spec):
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": name, "namespace": "default"}, "spec": {"clusterQueue": cluster_queue, **spec}}


def policy(name, expression, group="batch", version="v1", resource="jobs"):
    rules = [{"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": [resource]}]
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
        "failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules}, "validations": [{"expression": expression, "message": f"the policy {name} says so"}]}}  # fmt: skip


def binding(name):
    """In namespace default alone: the lab's others go on."""
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": {
        "policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}}}  # fmt: skip


def priority_class(name, value):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def mnist():
    return container(MNIST, cpu="1", memory="200Mi", command=["python3", "/opt/pytorch-mnist/mnist.py", "--epochs=1"], name="pytorch")


HELLO = container(AGNHOST, cpu="1", memory="200Mi", args=["entrypoint-tester", "hello", "world"])
GROUP = {QUEUE: "user-queue", "kueue.x-k8s.io/pod-group-name": "sample-group"}
TOPOLOGY = {"kueue.x-k8s.io/podset-required-topology": "cloud.provider.com/topology-rack"}
SETUP = [
    {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "default-flavor"}},
    {
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "cluster-queue"},
        "spec": {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [
            {"name": "default-flavor", "resources": [{"name": "cpu", "nominalQuota": 9}, {"name": "memory", "nominalQuota": "36Gi"}]}]}]},
    },
    {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "user-queue", "namespace": "default"}, "spec": {"clusterQueue": "cluster-queue"}},
]  # fmt: skip

KUEUE = {
    "jobs/sample-job.yaml": Sample([job("sample-job-", HELLO, count=3, suspend=True)], "Succeeded"),
    "sample-job.yaml": Sample([job("sample-job-", container("gcr.io/k8s-staging-perf-tests/sleep:v0.0.3", cpu="1", memory="200Mi", args=["1s"]), count=3, suspend=True)], "Succeeded"),
    "getting-started/quick-start-job.yaml": Sample([job("sample-job", container(AGNHOST, cpu="1", memory="200Mi", command=["/bin/sh"], args=["-c", "sleep 1"]), count=3)], "Succeeded"),
    "jobs/sample-job-partial-admission.yaml": Sample(
        [job("sample-job-partial-admission", HELLO, count=20, suspend=True, metadata={"annotations": {"kueue.x-k8s.io/job-min-parallelism": "5"}})], "Succeeded"
    ),
    "jobs/sample-scalable-job.yaml": Sample(
        [job("sample-elastic-job", sh("sleep 0.2", AGNHOST, cpu="100m", memory="100Mi"), count=3, suspend=True, metadata={"annotations": {"kueue.x-k8s.io/elastic-job": "true"}})], "Succeeded"
    ),
    "pods-kueue/kueue-pod.yaml": Sample([pod("kueue-sleep-", container("busybox", cpu="3", command=["sleep"], args=["1s"]), restart="OnFailure")], "Succeeded"),
    "pods-kueue/kueue-pod-group.yaml": Sample(
        2 * [{**pod("sample-pod-", container("busybox", cpu="3", command=["sleep"], args=["300s"]), restart="Always"),
              "metadata": {"generateName": "sample-pod-", "namespace": "default", "labels": GROUP, "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}}}], "Running"
    ),  # fmt: skip
    "pods-kueue/high-prio-pod.yaml": Sample(
        [priority_class("high-prio", 10000), pod("high-prio-1m-sleep", container("busybox", cpu="9", command=["sleep"], args=["1s"]), restart="OnFailure", priorityClassName="high-prio")], "Succeeded"
    ),
    "jobs/sample-jobset-tas-required.yaml": Sample([job_set("jobset-tas-required", ("workers", 4, sh("sleep 0.2", "busybox", cpu="1", memory="200Mi")))], "Succeeded"),
    "jobs/sample-pytorchjob.yaml": Sample([pytorch("pytorch-simple", mnist(), mnist(), queue="main")], "Waiting", "LocalQueue/default/main: does not exist; namespace default has default-queue, user-queue"),
    "jobs/ray-cluster-sample.yaml": Sample([{"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": named("raycluster-complete"), "spec": ray_cluster_spec()}], "Running"),
    "jobs/ray-job-sample.yaml": Sample(ray_job("rayjob-sample"), "Succeeded", 'Image "rayproject/ray:2.52.0" is not run here'),
    "tas/sample-job-required.yaml": Sample([job("tas-sample-required", HELLO, count=10, queue="tas-user-queue")], "Waiting", "names one that is there"),
    "appwrapper/deployment-sample.yaml": Sample([wrapper("sample-appwrapper-deployment", deployment("nginx", 3, container(NGINX, cpu="100m")))], "Running"),
    "jobs/appwrapper-leaderworkerset-sample.yaml": Sample(
        [wrapper("sample-lws", bare(leader_worker_set("nginx-leaderworkerset")), pod_sets=[
            {"path": "template.spec.leaderWorkerTemplate.leaderTemplate", "replicas": 2}, {"path": "template.spec.leaderWorkerTemplate.workerTemplate", "replicas": 3}])], "Running"
    ),  # fmt: skip
    "serving-workloads/sample-leaderworkerset.yaml": Sample([leader_worker_set("nginx-leaderworkerset")], "Running"),
    "serving-workloads/sample-deployment.yaml": Sample([queued(deployment("nginx-deployment", 3, container(NGINX, cpu="100m")))], "Running", "Deployment is not integrated with the queueing: label"),
    "deployment-kueue/kueue-statefulset.yaml": Sample(
        [queued(stateful_set("sleep-statefulset", 3, container("gcr.io/k8s-staging-perf-tests/sleep:v0.1.0", cpu="3", args=["5m"])))], "Running", "StatefulSet is not integrated with the queueing: label"
    ),
    "jobs/sample-cronjob.yaml": Sample([cron_job("sample-cronjob", container("gcr.io/k8s-staging-perf-tests/sleep:v0.0.3", cpu="1", memory="200Mi", args=["100ms"]), count=3)], "Repeats"),
    "jobs/appwrapper-pytorch-sample.yaml": Sample([wrapper("sample-appwrapper-pytorch-job", bare(pytorch("pytorch-simple", mnist(), mnist())))], "Running", f'Image "{MNIST}" is not run here'),
    "pods-kueue/low-prio-pod.yaml": Sample(
        [priority_class("low-prio", 1000), pod("low-prio-1m-sleep", container("busybox", cpu="9", command=["sleep"], args=["1s"]), restart="OnFailure", priorityClassName="low-prio")], "Succeeded"
    ),
    "tas/sample-job-preferred.yaml": Sample([job("tas-sample-preferred", HELLO, count=3, queue="tas-user-queue")], "Waiting", "LocalQueue/default/tas-user-queue: does not exist"),
    "provisioning/sample-job.yaml": Sample([job("sample-job", HELLO, count=3, queue="dws-local-queue", suspend=True)], "Waiting", "LocalQueue/default/dws-local-queue: does not exist"),
    "admission-fs/lq-a-simple-job.yaml": Sample([job("lq-a-job", HELLO, queue="lq-a", suspend=True)], "Waiting", "LocalQueue/default/lq-a: does not exist"),
    "jobs/ray-service-sample.yaml": unknown("ray.io/v1", "RayService", "rayservice-sample"),
    "python/sample-mpijob.py": unknown("kubeflow.org/v2beta1", "MPIJob", "pi"),
    "python/sample-trainjob.py": unknown("trainer.kubeflow.org/v1alpha1", "TrainJob", "sample-trainjob"),
    "jobs/sample-paddlejob.yaml": unknown("kubeflow.org/v1", "PaddleJob", "paddle-simple-cpu"),
    "sample-xgboostjob.yaml": unknown("kubeflow.org/v1", "XGBoostJob", "xgboost-dist-iris-test-train"),
    "jobs/sample-tfjob.yaml": unknown("kubeflow.org/v1", "TFJob", "tensorflow-dist-mnist"),
    "jobs/sample-sparkapplication.yaml": unknown("sparkoperator.k8s.io/v1beta2", "SparkApplication", "spark-pi"),
    "jobs/sample-mxjob.yaml": unknown("kubeflow.org/v1", "MXJob", "mxnet-job"),
    "python/sample-flux-operator-job.py": unknown("flux-framework.org/v1alpha1", "MiniCluster", "hello-world"),
    "pods/podgroup.yaml": unknown("scheduling.k8s.io/v1alpha3", "PodGroup", "was-sample"),
    "python/sample-job.py": Sample([job("sample-job-", container("registry.k8s.io/e2e-test-images/agnhost:2.53", cpu="1", memory="200Mi", args=["entrypoint-tester", "hello"]), count=3)], "Succeeded"),
    "admission-fs/lq-b-simple-job.yaml": Sample([job("lq-b-job", HELLO, queue="lq-b", suspend=True)], "Waiting", "LocalQueue/default/lq-b: does not exist"),
    "dra/gpu-job-admitted.yaml": Sample([job("gpu-job-admit", container("busybox", command=["sleep", "1"]), queue="gpu-queue")], "Waiting", "LocalQueue/default/gpu-queue: does not exist"),
    "dra/gpu-job-suspended.yaml": Sample([job("gpu-job-suspend", container("busybox", command=["sleep", "1"]), queue="gpu-queue")], "Waiting", "LocalQueue/default/gpu-queue: does not exist"),
    "tas/sample-job-unconstrained.yaml": Sample([job("tas-sample-unconstrained-", HELLO, count=3, queue="tas-user-queue")], "Waiting", "LocalQueue/default/tas-user-queue: does not exist"),
    "tas/sample-job-multi-layer.yaml": Sample(
        [job("tas-sample-multi-layer-", HELLO, count=64, queue="tas-user-queue", completionMode="Indexed")], "Waiting", "LocalQueue/default/tas-user-queue: does not exist"
    ),
    "multikueue/dev/sample-tas-job.yaml": Sample([job("sample-tas-job-", HELLO, count=2, queue="tas-user-queue")], "Waiting", "LocalQueue/default/tas-user-queue: does not exist"),
    "jobs/sample-jobset-tas-combined.yaml": Sample([job_set("jobset-tas-combined", ("workers", 8, sh("sleep 0.2", "busybox", cpu="1", memory="200Mi")))], "Succeeded"),
    "jobs/sample-jobset-tas-sliced.yaml": Sample([job_set("jobset-tas-sliced", ("workers", 4, sh("sleep 0.2", "busybox", cpu="1", memory="200Mi")))], "Succeeded"),
    "jobs/ray-job-autoscaling-sample.yaml": Sample(ray_job("rayjob-autoscaling-sample"), "Succeeded", 'Image "rayproject/ray:2.52.0" is not run here'),
    "serving-workloads/sample-leaderworkerset-tas.yaml": Sample([leader_worker_set("nginx-leaderworkerset", queue="tas-user-queue")], "Running", "LeaderWorkerSet is not integrated with the queueing: label"),
    "pods/was-podgroup-sample.yaml": Sample(
        [{**pod(f"was-sample-{i}", container(AGNHOST, cpu="200m", memory="128Mi", args=["entrypoint-tester"])),
          "metadata": {"name": f"was-sample-{i}", "namespace": "default", "labels": {QUEUE: "was-queue", "kueue.x-k8s.io/pod-group-name": "was-sample"},
                       "annotations": {"kueue.x-k8s.io/pod-group-total-count": "3"}}} for i in range(3)], "Waiting", "LocalQueue/default/was-queue: does not exist"
    ),  # fmt: skip
    "serving-workloads/sample-hami.yaml": Sample(
        [{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "hami-flavor"}, "spec": {"nodeLabels": {"gpu": "on"}}},
         queue_of("hami-queue", "hami-flavor", **{"nvidia.com/gpu": 20, "nvidia.com/total-gpucores": 600, "nvidia.com/total-gpumem": 20480}), local_queue("hami-user-queue", "hami-queue"),
         queued(deployment("gpu-burn", 1, {**container("oguzpastirmaci/gpu-burn:latest", gpu="2", command=["sleep", "300"]), "resources": {"limits": {"nvidia.com/gpu": "2", "nvidia.com/gpucores": "30"}}}), "hami-user-queue")],
        "Stuck", "Insufficient nvidia.com/gpucores"
    ),  # fmt: skip
    "admin/minimal-cq.yaml": Sample([queue_of("minimal-queue", "default-flavor", cpu=9, memory="36Gi")], "Active"),
    "admin/resource-flavor-empty.yaml": Sample([flavor_of("sample-empty")], "Taken"),
    "admin/resource-flavor-taints.yaml": Sample([flavor_of("sample-spot", nodeLabels={"instance-type": "spot"}, nodeTaints=[{"key": "spot", "value": "true", "effect": "NoSchedule"}])], "Taken"),
    "admin/resource-flavor-tolerations.yaml": Sample([flavor_of("sample-tolerated", nodeLabels={"instance-type": "spot"}, tolerations=[{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}])], "Taken"),
    "admin/shared-quota-setup.yaml": Sample(
        [flavor_of("sample-on-demand", nodeLabels={"node-type": "on-demand"}), queue_of("team-cluster-queue", "sample-on-demand", cpu=9, memory="9Gi"), local_queue("team-queue", "team-cluster-queue"),
         job("on-demand", HELLO, queue="team-queue")], "Stuck", "didn't match Pod's node affinity/selector"
    ),  # fmt: skip
    "admission-fs/admission-fair-sharing-setup.yaml": Sample(
        [queue_of("fair-cluster-queue", "default-flavor", {"queueingStrategy": "StrictFIFO", "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}, cpu=9, memory="9Gi"),
         local_queue("fair-a", "fair-cluster-queue", fairSharing={"weight": "1"}), job("fair-job", HELLO, queue="fair-a")], "Succeeded"
    ),  # fmt: skip
    "provisioning/provisioning-setup.yaml": Sample(
        [{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "AdmissionCheck", "metadata": {"name": "sample-prov"}, "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"}},
         queue_of("prov-cluster-queue", "default-flavor", {"admissionChecksStrategy": {"admissionChecks": [{"name": "sample-prov"}]}}, cpu=9, memory="9Gi"),
         local_queue("prov-queue", "prov-cluster-queue"), job("prov-job", HELLO, queue="prov-queue")], "Waiting", "sample-prov"
    ),  # fmt: skip
    "sample-validating-policy.yaml": Sample(
        [policy("sample-queue-name", "'kueue.x-k8s.io/queue-name' in object.metadata.labels"), binding("sample-queue-name"), job("without-queue", HELLO, queue=None, metadata={"labels": {"app": "a"}})],
        "Refused", "the policy sample-queue-name says so",
    ),  # fmt: skip
    "admin/concurrent-admission-setup.yaml": Sample(
        [queue_of("team-cluster-queue", "default-flavor", {"concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}}}, cpu=4)], "Refused", 'unknown field "spec.concurrentAdmissionPolicy"'
    ),
    "admin/cluster-role-and-binding.yaml": Sample(
        [{"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": "sample-batch-user"}, "rules": [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["localqueues"], "verbs": ["get", "list"]}]},
         {"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": "sample-batch-user"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "sample-batch-user"},
          "subjects": [{"kind": "Group", "name": "batch-users", "apiGroup": "rbac.authorization.k8s.io"}]}], "Taken"
    ),  # fmt: skip
    "getting-started/quick-start-setup.yaml": Sample([*SETUP, job("after-quick-start", HELLO, count=3)], "Succeeded"),
    "gpu/hami.yaml": Sample([queue_of("hami-gpus", "default-flavor", **{"nvidia.com/gpu": 50, "nvidia.com/gpucores": 600}), local_queue("hami-jobs", "hami-gpus"),
                             job("hami-job", {**container("busybox", command=["true"]), "resources": {"limits": {"nvidia.com/gpu": "2", "nvidia.com/gpumem": "1"}}}, queue="hami-jobs")],
                            "Waiting", "nvidia.com/gpumem"),  # fmt: skip
    "pods-kueue/prios.yaml": Sample([priority_class("sample-high", 10000), priority_class("sample-low", 1000)], "Taken"),
    "pods/was-podgroup-no-annotation-sample.yaml": Sample(
        [{**pod(f"was-plain-{i}", container(AGNHOST, cpu="200m", memory="128Mi", args=["entrypoint-tester"])),
          "metadata": {"name": f"was-plain-{i}", "namespace": "default", "labels": {QUEUE: "was-queue", "kueue.x-k8s.io/pod-group-name": "was-plain"},
                       "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}}} for i in range(2)], "Waiting", "LocalQueue/default/was-queue: does not exist"
    ),  # fmt: skip
    "pods/was-podgroup-setup.yaml": Sample([queue_of("was-cluster-queue", "default-flavor", cpu=9, memory="9Gi"), local_queue("was-user-queue", "was-cluster-queue")], "Active"),
    "sample-admission-check.yaml": Sample([{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "AdmissionCheck", "metadata": {"name": "sample-check"}, "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"}}], "Taken"),
    "sample-enforce-requests-policy.yaml": Sample([policy("sample-requests", "object.spec.podSets.all(ps, ps.count > 0)", group="kueue.x-k8s.io", version="v1beta1", resource="workloads")], "Taken"),
    "sample-enforce-requests-policy-binding.yaml": Sample([policy("sample-bound", "true", group="kueue.x-k8s.io", version="v1beta1", resource="workloads"), binding("sample-bound")], "Taken"),
    "tas/sample-queues.yaml": Sample(
        [{"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Topology", "metadata": {"name": "sample-topology"}, "spec": {"levels": [{"nodeLabel": "cloud.provider.com/topology-rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}},
         flavor_of("sample-tas-flavor", nodeLabels={"cloud.provider.com/node-group": "tas-node-group"}, topologyName="sample-topology"), queue_of("tas-cluster-queue", "sample-tas-flavor", cpu=100, memory="100Gi")], "Taken"
    ),  # fmt: skip
    "multikueue/tekton-pipelinerun-example.yaml": Sample(
        [{"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": named("sample-multikueue"), "spec": {
            "pipelineSpec": {"tasks": [{"name": "one", "taskSpec": {"steps": [{"name": "s", "image": "bash:latest", "script": "true"}]}}]}}}], "Succeeded"
    ),  # fmt: skip
    "a job that is larger than the queue": Sample([job("too-large", container("busybox", cpu="64", command=["true"]))], "Waiting", "insufficient quota for cpu"),
    "admin/single-clusterqueue-setup.yaml": Sample([*SETUP, job("after-setup", HELLO, count=3)], "Succeeded"),
}

CODEFLARE = {
    "wrapped-pod.yaml": Sample([wrapper("sample-pod", bare(pod("sample-pod", sh("sleep 1", cpu="1"))))], "Succeeded"),
    "wrapped-job.yaml": Sample([wrapper("sample-job", bare(job("sample-job", sh("sleep 1", cpu="1"))))], "Succeeded"),
    "wrapped-gpu-job.yaml": Sample([wrapper("sample-gpu-job", bare(job("sample-gpu-job", sh("sleep 1", cpu="1", gpu="4"))), annotations={"successTTLDuration": "1m"})], "Succeeded"),
    "wrapped-gpu-job.yaml on Kueue's queue": Sample(
        [*SETUP, wrapper("sample-gpu-job", bare(job("sample-gpu-job", sh("sleep 1", cpu="1", gpu="4"))))], "Waiting", "nvidia.com/gpu"
    ),
    "wrapped-deployment.yaml": Sample([wrapper("sample-deployment", deployment("sample-deployment", 2, sh("sleep 10000", cpu="1")))], "Running"),
    "wrapped-failing-pod.yaml": Sample(
        [wrapper("sample-failing-pod", bare(pod("sample-failing-pod", sh("exit 1", cpu="1"))), annotations={"failureGracePeriodDuration": "0s", "retryLimit": "0"})], "Failed"
    ),
    "wrapped-failing-job.yaml": Sample(
        [wrapper("sample-failing-job", bare(job("sample-failing-job", sh("exit 1", cpu="1"), backoffLimit=0)),
                 annotations={"failureGracePeriodDuration": "0s", "retryPausePeriodDuration": "0s", "retryLimit": "1"})], "Failed"
    ),  # fmt: skip
    "appwrapper.yaml": Sample(
        [wrapper("sample", bare(pod("sample-pod", sh("sleep 1", cpu="1"))), {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "sample-service"}, "spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}})],
        "Succeeded",
    ),
    "wrapped-failing-pytorch-job.yaml": Sample(
        [wrapper("sample-failing-pytorch-job", bare(pytorch("pytorch-failing", *(sh("sleep 1; exit 1", cpu="1", name="pytorch") for _ in range(2)), restart="Never")),
                 annotations={"failureGracePeriodDuration": "0s", "retryPausePeriodDuration": "0s", "retryLimit": "0"})], "Failed"
    ),  # fmt: skip
    "wrapped-pytorch-job.yaml": Sample([wrapper("sample-pytorch-job", bare(pytorch("pytorch-simple", mnist(), mnist())))], "Running", f'Image "{MNIST}" is not run here'),
    "wrapped-jobset.yaml": Sample(
        [wrapper("sample-jobset", bare(job_set("sample-jobset", ("workers", 4, sh("sleep 1", cpu="100m")), ("driver", 1, sh("sleep 1", cpu="100m")))), queue="default-queue")], "Succeeded"
    ),
    "wrapped-leader-worker-set.yaml": Sample(
        [wrapper("sample-lws", bare(leader_worker_set("sample-lws")), queue="default-queue", pod_sets=[
            {"path": "template.spec.leaderWorkerTemplate.leaderTemplate", "replicas": 2}, {"path": "template.spec.leaderWorkerTemplate.workerTemplate", "replicas": 4}])], "Running"
    ),  # fmt: skip
}


def steps(*scripts, image="bash:latest", **spec):
    return {"steps": [{"name": f"s{i}", "image": image, "script": f"#!/usr/bin/env bash\nset -e\n{text}\n"} for i, text in enumerate(scripts)], **spec}


def run(kind, name, **spec):
    return {"apiVersion": "tekton.dev/v1", "kind": kind, "metadata": {"generateName": f"{name}-", "namespace": "default"}, "spec": spec}


def of_tasks(name, *tasks, spec=None, **more):
    """A PipelineRun that ends well: its own spec, and that of its pipeline beside the tasks."""
    return Sample([run("PipelineRun", name, pipelineSpec={"tasks": list(tasks), **(spec or {})}, **more)], "Succeeded")


def with_params(task, *names, **more):
    return {**task, "params": [{"name": name} for name in names], **more}


def of_task(name, task, **spec):
    return Sample([run("TaskRun", name, taskSpec=task, **spec)], "Succeeded")


CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}}}
RESULT = {"results": [{"name": "r", "type": "string"}]}
TEKTON = {
    "taskruns/step-script.yaml": of_task("step-script", steps("echo hi", "[[ $(params.p) == x ]]", params=[{"name": "p", "default": "x"}])),
    "taskruns/workspace.yaml": of_task(
        "workspace", steps("echo a > $(workspaces.w.path)/f", "grep a $(workspaces.w.path)/f", workspaces=[{"name": "w"}]), workspaces=[{"name": "w", "emptyDir": {}}]
    ),
    "taskruns/workspace-with-volumeClaimTemplate.yaml": of_task(
        "workspace-claim", steps("echo a > $(workspaces.w.path)/f", workspaces=[{"name": "w"}]), workspaces=[{"name": "w", "volumeClaimTemplate": CLAIM}]
    ),
    "taskruns/sidecar-ready.yaml": of_task(
        "sidecar-ready",
        {**steps("until [[ -f /shared/ready ]]; do sleep 0.1; done"), "volumes": [{"name": "shared", "emptyDir": {}}], "stepTemplate": {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]},
         "sidecars": [{"name": "slow", "image": "ubuntu", "command": ["/bin/bash"], "args": ["-c", "touch /shared/ready; sleep 1000"], "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}]},
    ),  # fmt: skip
    "taskruns/using_context_variables.yaml": of_task("context", steps("[[ $(context.taskRun.namespace) == default ]]")),
    "taskruns/ignore-step-error.yaml": of_task("ignore", {"steps": [{"name": "bad", "image": "alpine", "onError": "continue", "script": "exit 1"}, {"name": "good", "image": "alpine", "script": "exit 0"}]}),
    "taskruns/dind-sidecar.yaml": Sample(
        [run("TaskRun", "dind", taskSpec={"steps": [{"name": "c", "image": "docker", "script": "docker ps"}], "sidecars": [
            {"name": "server", "image": "docker:dind", "securityContext": {"privileged": True}}]})], "Stuck", "privileged containers are not run on emulated nodes"
    ),  # fmt: skip
    "taskruns/unknown image with arguments": Sample(
        [run("TaskRun", "builder", taskSpec={"steps": [{"name": "build", "image": "gcr.io/kaniko-project/executor:v1.5.1", "args": ["--destination=x"]}]})], "Failed", "annotation athanor.dev/simulate"
    ),
    "taskruns/the same, simulated": Sample(
        [{**(one := run("TaskRun", "builder", taskSpec={"steps": [{"name": "build", "image": "gcr.io/kaniko-project/executor:v1.5.1", "args": ["--destination=x"]}]})),
          "metadata": {**one["metadata"], "annotations": {"athanor.dev/simulate": '{"build": {"seconds": 1}}'}}}], "Succeeded"
    ),  # fmt: skip
    "pipelineruns/pipelinerun-with-params.yaml": Sample(
        [run("PipelineRun", "params", params=[{"name": "x", "value": "4"}], pipelineSpec={"params": [{"name": "x"}], "tasks": [
            {"name": "add", "params": [{"name": "a", "value": "$(params.x)"}], "taskSpec": {**steps("[[ $(params.a) == 4 ]]"), "params": [{"name": "a"}]}}]})], "Succeeded"
    ),  # fmt: skip
    "pipelineruns/task_results_example.yaml": Sample(
        [run("PipelineRun", "results", pipelineSpec={"tasks": [
            {"name": "one", "taskSpec": {**steps("echo -n 7 > $(results.r.path)"), **RESULT}},
            {"name": "two", "params": [{"name": "a", "value": "$(tasks.one.results.r)"}], "taskSpec": {**steps("[[ $(params.a) == 7 ]]"), "params": [{"name": "a"}]}}]})], "Succeeded"
    ),  # fmt: skip
    "pipelineruns/pipelinerun-with-final-tasks.yaml": Sample(
        [run("PipelineRun", "finally", pipelineSpec={"tasks": [{"name": "work", "taskSpec": steps("true")}], "finally": [{"name": "clean", "taskSpec": steps("[[ $(tasks.status) ]] || true")}]})], "Succeeded"
    ),
    "pipelineruns/pipelinerun-with-when-expressions.yaml": Sample(
        [run("PipelineRun", "when", pipelineSpec={"tasks": [
            {"name": "not", "when": [{"input": "a", "operator": "in", "values": ["b"]}], "taskSpec": steps("exit 1")}, {"name": "yes", "taskSpec": steps("true")}]})], "Succeeded"
    ),  # fmt: skip
    "pipelineruns/using-retries-and-retry-count-variables.yaml": Sample(
        [run("PipelineRun", "retries", pipelineSpec={"tasks": [{"name": "last", "retries": 2, "taskSpec": {
            **steps("[[ $(params.n) == 2 ]]"), "params": [{"name": "n"}]}, "params": [{"name": "n", "value": "$(context.pipelineTask.retries)"}]}]})], "Succeeded"
    ),  # fmt: skip
    "pipelineruns/workspaces.yaml": Sample(
        [run("PipelineRun", "shared", workspaces=[{"name": "s", "volumeClaimTemplate": CLAIM}], pipelineSpec={"workspaces": [{"name": "s"}], "tasks": [
            {"name": "write", "workspaces": [{"name": "w", "workspace": "s"}], "taskSpec": {**steps("echo a > $(workspaces.w.path)/f"), "workspaces": [{"name": "w"}]}},
            {"name": "read", "runAfter": ["write"], "workspaces": [{"name": "w", "workspace": "s"}], "taskSpec": {**steps("grep a $(workspaces.w.path)/f"), "workspaces": [{"name": "w"}]}}]})],
        "Succeeded",
    ),  # fmt: skip
    "pipelineruns/pipelinerun-with-matrix.yaml": Sample(
        [run("PipelineRun", "matrix", pipelineSpec={"tasks": [{"name": "p", "matrix": {"params": [{"name": "os", "value": ["linux", "mac"]}]}, "taskSpec": {
            **steps("echo $(params.os)"), "params": [{"name": "os"}]}}]})], "Succeeded"
    ),  # fmt: skip
    "pipelineruns/pipelinerun-results.yaml": of_tasks(
        "run-results", {"name": "one", "taskSpec": {**steps("echo -n 7 > $(results.r.path)"), **RESULT}}, spec={"results": [{"name": "out", "value": "$(tasks.one.results.r)"}]}
    ),
    "pipelineruns/propagating_params_implicit_parameters.yaml": of_tasks("implicit", {"name": "one", "taskSpec": steps("[[ $(params.HELLO) == hi ]]")}, params=[{"name": "HELLO", "value": "hi"}]),
    "pipelineruns/propagating-workspaces.yaml": of_tasks(
        "implicit-workspace", {"name": "one", "taskSpec": steps("echo a > $(workspaces.s.path)/f")}, workspaces=[{"name": "s", "emptyDir": {}}]
    ),
    "pipelineruns/optional-workspaces.yaml": of_tasks(
        "optional", {"name": "one", "taskSpec": {**steps("[[ $(workspaces.w.bound) == false ]]"), "workspaces": [{"name": "w", "optional": True}]}}, spec={"workspaces": [{"name": "s", "optional": True}]}
    ),
    "pipelineruns/mapping-workspaces.yaml": of_tasks(
        "mapping", {"name": "one", "workspaces": [{"name": "w", "workspace": "s", "subPath": "a"}], "taskSpec": {**steps("echo a > $(workspaces.w.path)/f"), "workspaces": [{"name": "w"}]}},
        {"name": "two", "runAfter": ["one"], "workspaces": [{"name": "w", "workspace": "s"}], "taskSpec": {**steps("grep a $(workspaces.w.path)/a/f"), "workspaces": [{"name": "w"}]}},
        spec={"workspaces": [{"name": "s"}]}, workspaces=[{"name": "s", "volumeClaimTemplate": CLAIM}],
    ),  # fmt: skip
    "pipelineruns/ignore-step-error.yaml": of_tasks("ignore-error", {"name": "one", "taskSpec": {"steps": [{"name": "bad", "image": "alpine", "onError": "continue", "script": "exit 1"}]}}),
    "pipelineruns/pipelinerun-task-execution-status.yaml": of_tasks(
        "status", {"name": "work", "taskSpec": steps("true")},
        spec={"finally": [{"name": "tell", "params": [{"name": "s", "value": "$(tasks.work.status)"}], "taskSpec": with_params(steps("[[ $(params.s) == Succeeded ]]"), "s")}]},
    ),  # fmt: skip
    "pipelineruns/pipelinerun-with-final-results.yaml": of_tasks(
        "final", {"name": "one", "taskSpec": {**steps("echo -n 7 > $(results.r.path)"), **RESULT}},
        spec={"finally": [{"name": "tell", "params": [{"name": "v", "value": "$(tasks.one.results.r)"}], "taskSpec": with_params(steps("[[ $(params.v) == 7 ]]"), "v")}]},
    ),  # fmt: skip
    "pipelineruns/pipelinerun-param-array-indexing.yaml": of_tasks(
        "indexing", {"name": "one", "params": [{"name": "v", "value": "$(params.all[1])"}], "taskSpec": with_params(steps("[[ $(params.v) == b ]]"), "v")},
        spec={"params": [{"name": "all", "type": "array"}]}, params=[{"name": "all", "value": ["a", "b"]}],
    ),  # fmt: skip
    "pipelineruns/pipeline-object-param-and-result.yaml": of_tasks(
        "object", {"name": "one", "params": [{"name": "v", "value": "$(params.o.url)"}], "taskSpec": with_params(steps("[[ $(params.v) == u ]]"), "v")},
        spec={"params": [{"name": "o", "type": "object", "properties": {"url": {"type": "string"}}}]}, params=[{"name": "o", "value": {"url": "u"}}],
    ),  # fmt: skip
    "pipelineruns/using_context_variables.yaml": of_tasks(
        "contexts", {"name": "one", "params": [{"name": "n", "value": "$(context.pipelineRun.namespace)"}], "taskSpec": with_params(steps("[[ $(params.n) == default ]]"), "n")}
    ),
    "pipelineruns/beta/pipelinerun-with-matrix-include.yaml": of_tasks(
        "include", {"name": "one", "matrix": {"include": [{"name": "a", "params": [{"name": "os", "value": "linux"}]}, {"name": "b", "params": [{"name": "os", "value": "mac"}]}]},
                    "taskSpec": with_params(steps("echo $(params.os)"), "os")},
    ),  # fmt: skip
    "pipelineruns/pipelinerun-with-task-timeout-override.yaml": Sample(
        [run("PipelineRun", "timeout", timeouts={"pipeline": "1m"}, pipelineSpec={"tasks": [{"name": "slow", "timeout": "1s", "taskSpec": steps("sleep 60")}]})], "Failed", "TaskRunTimeout"
    ),
    "pipelineruns/no-ci/windows-node-selectors.yaml": Sample(
        [run("TaskRun", "windows", podTemplate={"nodeSelector": {"kubernetes.io/os": "windows"}}, taskSpec=steps("true"))], "Stuck", "didn't match Pod's node affinity/selector"
    ),
    "no-ci/hub-resolver.yaml": Sample([run("TaskRun", "hub", taskRef={"resolver": "hub", "params": [{"name": "name", "value": "git-clone"}]})], "Failed", "resolver"),
}
SAMPLES = {f"{project}: {name}": sample for project, all_ in (("kueue", KUEUE), ("codeflare", CODEFLARE), ("tekton", TEKTON)) for name, sample in all_.items()}
