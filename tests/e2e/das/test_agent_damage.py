# SPDX-License-Identifier: Apache-2.0
"""athanor-agent among what is broken: damaged messages at its sockets and from its kubelet, and a driver that answers wrongly."""

import concurrent.futures
import contextlib
import pathlib
import socket
import time

import grpc
import pytest
from support import wait_for
from test_agent import ACCELERATOR, agent, real, run_pod, wait_capacity  # noqa: F401: fixtures

CONTAINER = b"\x0a\x08" + b"1g.5gb-0"  # a list of one device
DAMAGED = {
    "cut off": b"\x0a\x0a\x0a\x08",
    "a length beyond the end": b"\x0a\xff\xff\xff\xff\x07",
    "an endless number": b"\xff" * 40,
    "a number where a container belongs": b"\x08\x07",
    "a container without devices": b"\x0a\x00",
    "a device twice": b"\x0a\x14" + CONTAINER * 2,
    "no UTF-8": b"\x0a\x04\x0a\x02\xff\xfe",
    "nothing": b"",
    "more than a message may have": b"\x0a" * (5 << 20),
}


def call(path, method, body):
    """The code of a call with bytes in place of a message."""
    with grpc.insecure_channel(f"unix:{path}", [("grpc.use_local_subchannel_pool", 1), ("grpc.default_authority", "localhost"), ("grpc.max_send_message_length", -1)]) as channel:
        try:
            channel.unary_unary(method, request_serializer=None, response_deserializer=None)(body, timeout=10)
        except grpc.RpcError as error:
            return error.code()
    return grpc.StatusCode.OK


def test_damaged_questions_are_answered_and_take_nothing(agent):  # noqa: F811
    agent.start()
    wait_capacity(agent)
    plugin = agent.kubelet.folder / "mig.das.com_1g.5gb.sock"
    add = {"nvidia.com/mig-1g.5gb": "1"}
    for name, body in DAMAGED.items():
        code = call(plugin, "/v1beta1.DevicePlugin/Allocate", body)
        assert code in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED), f"{name}: {code}"
        for method in ("GetDevicePluginOptions", "PreStartContainer", "GetPreferredAllocation", "Nothing"):
            assert call(plugin, f"/v1beta1.DevicePlugin/{method}", body) not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED), name
    for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100_000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 1000, b""):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(plugin))
            with contextlib.suppress(OSError):  # it may end the connection before all of it is there
                client.sendall(noise)
    (device,) = run_pod(agent, "a", add)
    assert device.startswith("mig.das.com/") and agent.process.poll() is None


def test_a_kubelet_that_answers_damaged_is_asked_again(agent):  # noqa: F811
    agent.kubelet.damage = {"Register": b"\xff\xff", "List": b"\x0a\xff\xff\xff\xff\x07"}
    agent.start(ready=False)
    wait_for("the agent tries to register more than once", lambda: agent.kubelet.calls >= 3)
    agent.kubelet.damage = {"List": DAMAGED["a length beyond the end"]}
    wait_for("the agent is ready", lambda: agent.get("/readyz")[0] == 200)
    run_pod(agent, "a", {"nvidia.com/mig-1g.5gb": "1"})
    agent.kubelet.damage = {"List": b"\x0a" * (17 << 20)}
    run_pod(agent, "b", {"nvidia.com/mig-1g.5gb": "1"})
    assert agent.process.poll() is None


def resident(process):
    """Bytes of memory of a process."""
    return int(pathlib.Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[1]) * 4096


def test_memory_of_a_burst_of_questions_is_given_back(agent):  # noqa: F811
    agent.start()
    wait_capacity(agent)
    plugin = agent.kubelet.folder / "mig.das.com_1g.5gb.sock"
    before = resident(agent.process)
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        codes = set(pool.map(lambda _: call(plugin, "/v1beta1.DevicePlugin/Allocate", b"\x0a" * 1_000_000), range(300)))
    assert grpc.StatusCode.OK not in codes
    wait_for("the memory is given back", lambda: resident(agent.process) < 1.3 * before + (8 << 20), deadline=60)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_driver_that_answers_wrongly_costs_no_running_pod_its_slice(real, seed):  # noqa: F811
    real.start()
    (device,) = run_pod(real, "a", {"nvidia.com/mig-1g.5gb": "1"})
    before = real.instances()
    for event in range(8):
        real.tell_gpus(hostile=seed * 100 + event, event=event, migChange=True)
        time.sleep(0.4)
    assert real.instances() == before and real.process.poll() is None
    real.tell_gpus(event=99, migChange=True)
    wait_for("the driver is believed again", lambda: real.lab.get(ACCELERATOR)["status"]["conditions"][0]["reason"] == "GPUsAccessible", deadline=30)
    run_pod(real, "b", {"nvidia.com/mig-1g.5gb": "1"})
    real.kubelet.finish("a")
    wait_for("the slice is destroyed", lambda: len(real.instances()) == 1 and device not in str(real.files()), deadline=30)
