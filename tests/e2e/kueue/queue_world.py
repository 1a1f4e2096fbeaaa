# SPDX-License-Identifier: Apache-2.0
"""Queues and Workloads of a test's own, by the API alone (docs/spec/kueue.md)."""

from support import DEADLINE, wait_for

GROUP = "/apis/kueue.x-k8s.io/v1beta2"
MERGE = "application/merge-patch+json"
GPU = "example.com/gpu"


class World:
    """Queues of a test's own: their names begin with the name of its namespace."""

    def __init__(self, lab, ns):
        self.lab, self.ns = lab, ns
        self.workloads = f"{GROUP}/namespaces/{ns}/workloads"

    def name(self, short):
        return f"{self.ns}-{short}"

    def post(self, path, body, code=201):
        answer = self.lab.http("POST", path, body)
        assert answer.code == code, answer.text
        return answer.json

    def patch(self, path, body, code=200):
        answer = self.lab.http("PATCH", path, body, content_type=MERGE)
        assert answer.code == code, answer.text
        return answer.json

    def flavor(self, short, **spec):
        self.post(f"{GROUP}/resourceflavors", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": self.name(short)}, "spec": spec})

    def queue(self, short, nominal, resource=GPU, flavors=("f",), limits=None, **spec):
        """A ClusterQueue and its LocalQueue of the same short name."""
        quota = {"name": resource, "nominalQuota": str(nominal), **(limits or {})}
        groups = [{"coveredResources": [resource], "flavors": [{"name": self.name(one), "resources": [quota]} for one in flavors]}]
        spec = {"namespaceSelector": {}, "resourceGroups": groups, **spec}
        if "cohortName" in spec:
            spec["cohortName"] = self.name(spec["cohortName"])
        self.post(f"{GROUP}/clusterqueues", {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": self.name(short)}, "spec": spec})
        local = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": short, "namespace": self.ns}, "spec": {"clusterQueue": self.name(short)}}
        self.post(f"{GROUP}/namespaces/{self.ns}/localqueues", local)

    def submit(self, name, queue, amount, priority=0, resource=GPU, count=1, pod=None, **more):
        container = {"name": "c", "image": "i", "resources": {"requests": {resource: str(amount)}}}
        pods = {"name": "main", "count": count, "template": {"spec": {"restartPolicy": "Never", "containers": [container], **(pod or {})}}, **more.pop("pods", {})}
        spec = {"queueName": queue, "priority": priority, "podSets": [pods], **more}
        return self.post(self.workloads, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": name}, "spec": spec})

    def job(self, name, queue, cpu, priority_class=None):
        labels = {"kueue.x-k8s.io/queue-name": queue, **({"kueue.x-k8s.io/priority-class": priority_class} if priority_class else {})}
        container = {"name": "c", "image": "busybox:1.36", "command": ["sleep", "1000"], "resources": {"requests": {"cpu": cpu}}}
        pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
        self.post(f"/apis/batch/v1/namespaces/{self.ns}/jobs", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels}, "spec": {"template": {"spec": pod}}})
        return wait_for(f"the Workload of {name}", lambda: [w["metadata"]["name"] for w in self.lab.get(self.workloads)["items"] if w["metadata"]["name"].startswith(f"job-{name}-")])[0]

    def priority(self, short, value):
        body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": self.name(short)}, "value": value}
        self.post(f"{GROUP}/workloadpriorityclasses", body)
        return self.name(short)

    def get(self, name):
        return self.lab.get(f"{self.workloads}/{name}")

    def delete(self, name):
        assert self.lab.http("DELETE", f"{self.workloads}/{name}").code == 200

    def condition(self, name, kind):
        return next((c for c in self.get(name).get("status", {}).get("conditions", []) if c["type"] == kind), {})

    def admitted(self, name):
        return self.condition(name, "Admitted").get("status") == "True"

    def message(self, name):
        return self.condition(name, "QuotaReserved").get("message", "")

    def await_admitted(self, name, deadline=DEADLINE):
        wait_for(f"{name} is admitted", lambda: self.admitted(name), deadline)

    def await_message(self, name, text):
        return wait_for(f"{name} waits with {text!r}", lambda: text in self.message(name) and self.condition(name, "QuotaReserved")["status"] == "False")

    def cluster_queue(self, short):
        return self.lab.get(f"{GROUP}/clusterqueues/{self.name(short)}")

    def active(self, short):
        return next((c for c in self.cluster_queue(short).get("status", {}).get("conditions", []) if c["type"] == "Active"), {})
