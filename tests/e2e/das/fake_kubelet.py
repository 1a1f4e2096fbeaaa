# SPDX-License-Identifier: Apache-2.0
"""The side of a kubelet that device plugins see, on sockets of its own: registration, ListAndWatch, Allocate, pod resources; and a node
object that shows what plugins report. It admits pods when a test says so, in the order that the test says."""

import concurrent.futures
import contextlib
import datetime
import http.client
import json
import pathlib
import shutil
import sys
import threading

import grpc
from support import ROOT, wait_for

sys.path.insert(0, str(ROOT / "src/agent/kubelet/proto"))
plugin_api, plugin_services = grpc.protos_and_services("deviceplugin.proto")
resources_api, resources_services = grpc.protos_and_services("podresources.proto")
registration_api, registration_services = grpc.protos_and_services("pluginregistration.proto")
dra_api, dra_services = grpc.protos_and_services("dra.proto")


class FakeKubelet(plugin_services.RegistrationServicer, resources_services.PodResourcesListerServicer):
    def __init__(self, folder, lab, node="gpu-1"):
        self.folder, self.lab, self.node = pathlib.Path(folder), lab, node
        self.folder.mkdir(parents=True, exist_ok=True)
        self.pod_resources = self.folder / "pod-resources.sock"
        self.devices, self.registrations, self.held = {}, [], {}
        self.lists = {}  # resource: number of lists that came
        self.calls = 0  # of Register
        self.damage = {}  # method: bytes that are answered instead of a message
        self.clears_late = False  # removes the plugins' sockets at the first registration, not when it starts
        self._channels, self._server, self._lock = {}, None, threading.Lock()
        self._closed = threading.Event()
        self._reporting = threading.Lock()  # lists come in a thread each: the newest amounts are written last

    # --- life ---------------------------------------------------------------------------------------------
    def start(self):
        for socket in self.folder.glob("*.sock"):  # as a kubelet does when it starts
            socket.unlink()
        self.devices, self.registrations, self.lists = {}, [], {}
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        for service, method, answer, ask in (
            ("v1beta1.Registration", "Register", self.Register, plugin_api.RegisterRequest),
            ("v1.PodResourcesLister", "List", self.List, resources_api.ListPodResourcesRequest),
        ):
            write = lambda message, name=method: self.damage.get(name) or message.SerializeToString()  # noqa: E731
            handler = grpc.unary_unary_rpc_method_handler(answer, request_deserializer=ask.FromString, response_serializer=write)
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
        self._server.add_insecure_port(f"unix:{self.folder}/kubelet.sock")
        self._server.add_insecure_port(f"unix:{self.pod_resources}")
        self._server.start()
        return self

    def stop(self):
        if self._server:
            self._server.stop(None).wait()
            self._server = None
        with self._lock:
            for channel in self._channels.values():
                channel.close()
            self._channels = {}

    def close(self):
        self._closed.set()
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- services -----------------------------------------------------------------------------------------
    def Register(self, request, context):  # noqa: N802
        assert request.version == "v1beta1"
        channel = grpc.insecure_channel(f"unix:{self.folder}/{request.endpoint}", [("grpc.use_local_subchannel_pool", 1)])
        with self._lock:
            self.calls += 1
            if self.clears_late:
                self.clears_late = False
                for socket in self.folder.glob("*das.com_*.sock"):
                    socket.unlink()
        try:
            grpc.channel_ready_future(channel).result(10)  # a kubelet connects before it answers
        except grpc.FutureTimeoutError:
            context.abort(grpc.StatusCode.UNKNOWN, "failed to dial device plugin")
        with self._lock:
            self._channels[request.resource_name] = channel
            self.registrations.append(request.resource_name)
        threading.Thread(target=self._watch, args=(request.resource_name, channel), daemon=True).start()
        return plugin_api.Empty()

    def List(self, request, context):  # noqa: N802
        answer = resources_api.ListPodResourcesResponse()
        for (ns, pod, container), devices in self.held.items():
            one = answer.pod_resources.add(name=pod, namespace=ns)
            entry = one.containers.add(name=container)
            for resource, ids in devices.items():
                entry.devices.add(resource_name=resource, device_ids=ids)
        return answer

    def _watch(self, resource, channel):
        # OSError: the lab has ended before its kubelet.
        with contextlib.suppress(grpc.RpcError, ValueError, OSError):
            for answer in plugin_services.DevicePluginStub(channel).ListAndWatch(plugin_api.Empty()):
                self.devices[resource] = {device.ID: device for device in answer.devices}
                self.lists[resource] = self.lists.get(resource, 0) + 1
                self.report()

    # --- the node -----------------------------------------------------------------------------------------
    def add_node(self):
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.node, "labels": {
            "nvidia.com/mig.capable": "true", "kubernetes.io/hostname": self.node}}}  # fmt: skip
        answer = self.lab.http("POST", "/api/v1/nodes", body)
        assert answer.code == 201, answer.text
        self.report()
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self):
        """Reports every ten seconds, as a kubelet does: after forty without a word a node is unreachable, and a test may take longer."""
        while not self._closed.wait(10):
            with contextlib.suppress(OSError, http.client.HTTPException):  # the lab has ended before its kubelet
                self.report()

    def report(self):
        """The node's status as a kubelet keeps it."""
        with self._reporting:
            self._report()

    def _report(self):
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        amounts = {"cpu": "16", "memory": "64Gi", "pods": "250"}
        capacity = {**amounts, **{r: str(len(d)) for r, d in self.devices.items()}}
        usable = {**amounts, **{r: str(sum(x.health == "Healthy" for x in d.values())) for r, d in self.devices.items()}}
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastHeartbeatTime": now, "lastTransitionTime": now}
        lease = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{self.node}"
        body = {"metadata": {"name": self.node}, "spec": {"holderIdentity": self.node, "leaseDurationSeconds": 3600, "renewTime": now[:-1] + ".000000Z"}}
        self.lab.http("PATCH", lease + "?fieldManager=kubelet&force=true", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **body},
                      content_type="application/apply-patch+yaml")  # fmt: skip
        self.lab.http("PATCH", f"/api/v1/nodes/{self.node}/status", {"status": {"capacity": capacity, "allocatable": usable, "conditions": [condition]}},
                      content_type="application/merge-patch+json")  # fmt: skip

    # --- pods ---------------------------------------------------------------------------------------------
    def allocate(self, resource, *requests):
        """One Allocate call; each request is a list of device IDs. The CDI devices, one for each."""
        stub = plugin_services.DevicePluginStub(self._channels[resource])
        ask = plugin_api.AllocateRequest(container_requests=[plugin_api.ContainerAllocateRequest(devices_ids=ids) for ids in requests])
        answer = stub.Allocate(ask, timeout=10)
        return [[device.name for device in one.cdi_devices] for one in answer.container_responses]

    def admit(self, pod, ns="default"):
        """Starts a pod that was bound here: devices for each container and resource, then phase Running. CDI devices by container."""
        spec = self.lab.get(f"/api/v1/namespaces/{ns}/pods/{pod}")["spec"]
        given = {}
        for container in spec.get("initContainers", []) + spec["containers"]:
            for resource, count in container.get("resources", {}).get("limits", {}).items():
                if ".das.com/" not in resource:
                    continue
                taken = {i for one in self.held.values() for i in one.get(resource, [])}
                ids = [i for i in self.devices[resource] if i not in taken][: int(count)]
                given.setdefault(container["name"], []).extend(self.allocate(resource, ids)[0])
                self.held.setdefault((ns, pod, container["name"]), {})[resource] = ids
        self.set_phase(pod, "Running", ns)
        return given

    def set_phase(self, pod, phase, ns="default"):
        self.lab.http("PATCH", f"/api/v1/namespaces/{ns}/pods/{pod}/status", {"status": {"phase": phase}}, content_type="application/merge-patch+json")

    def finish(self, pod, phase=None, ns="default"):
        """The pod's containers have ended: its devices are free; without a phase the object goes, too."""
        self.held = {key: value for key, value in self.held.items() if key[:2] != (ns, pod)}
        if phase:
            self.set_phase(pod, phase, ns)
        else:
            self.lab.http("DELETE", f"/api/v1/namespaces/{ns}/pods/{pod}", {"gracePeriodSeconds": 0})

    def wait_bound(self, pod, ns="default"):
        wait_for(f"{pod} is bound", lambda: self.lab.get(f"/api/v1/namespaces/{ns}/pods/{pod}")["spec"].get("nodeName") == self.node)


class FakeDraManager:
    """The side of a kubelet that drivers of ResourceClaims see: it finds their sockets in a folder, and asks them to prepare claims."""

    def __init__(self, folder, lab):
        self.registry, self.plugins, self.lab, self.driver = pathlib.Path(folder) / "registry", pathlib.Path(folder) / "plugins", lab, None
        self.registry.mkdir(parents=True)

    def register(self):
        """Waits for a driver's socket, as a kubelet does; what the driver says of itself."""
        wait_for("a driver's socket", lambda: list(self.registry.glob("*-reg.sock")))
        with self._open(next(self.registry.glob("*-reg.sock"))) as channel:
            stub = registration_services.RegistrationStub(channel)
            info = stub.GetInfo(registration_api.InfoRequest(), timeout=10, wait_for_ready=True)
            stub.NotifyRegistrationStatus(registration_api.RegistrationStatus(plugin_registered=True), timeout=10)
        self.driver = info
        return info

    @staticmethod
    def _open(socket):
        return grpc.insecure_channel(f"unix:{socket}", [("grpc.use_local_subchannel_pool", 1), ("grpc.default_authority", "localhost")])

    def _claims(self, claims):
        return [dra_api.Claim(namespace=c["metadata"]["namespace"], name=c["metadata"]["name"], uid=c["metadata"]["uid"]) for c in claims]

    def prepare(self, *claims):
        with self._open(self.driver.endpoint) as channel:
            ask = dra_api.NodePrepareResourcesRequest(claims=self._claims(claims))
            return dra_services.DRAPluginStub(channel).NodePrepareResources(ask, timeout=20, wait_for_ready=True).claims

    def unprepare(self, *claims):
        with self._open(self.driver.endpoint) as channel:
            ask = dra_api.NodeUnprepareResourcesRequest(claims=self._claims(claims))
            return dra_services.DRAPluginStub(channel).NodeUnprepareResources(ask, timeout=20, wait_for_ready=True).claims


def cdi_file(folder, device):
    """The CDI file of a device's full name, parsed."""
    kind, _, name = device.partition("=")
    stem = kind.split("/")[1] if kind.startswith("mig.") else kind.replace("/", "-")
    return json.loads((pathlib.Path(folder) / f"{stem}_{name}.cdi.json").read_text())


def environment(folder, device):
    return dict(one.split("=", 1) for one in cdi_file(folder, device)["devices"][0]["containerEdits"]["env"])
