# SPDX-License-Identifier: Apache-2.0
"""What a client that watches AppWrappers sees of them, and what answers at an address of the stack."""

import contextlib
import http.client
import json
import threading

READ = ("QuotaReserved", "ResourcesDeployed")


def state_in(status):
    conditions = {one["type"]: one["status"] for one in status.get("conditions", [])}
    return (status.get("phase", ""), *(conditions.get(name) for name in READ))


class Course:
    """Each group's states in their order (phase, QuotaReserved, ResourcesDeployed), without repetitions, from one watch."""

    def __init__(self, plane, path):
        self.states = {}
        version = plane.get(path)["metadata"]["resourceVersion"]
        self.connection = plane.connection(timeout=600)
        self.connection.request("GET", f"{path}?watch=1&resourceVersion={version}&timeoutSeconds=600")
        self.answer = self.connection.getresponse()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):  # the end of the test closes it
            for line in self.answer:
                event = json.loads(line)
                name, state = event["object"].get("metadata", {}).get("name"), state_in(event["object"].get("status", {}))
                seen = self.states.setdefault(name, [])
                if state[0] and event["type"] in ("ADDED", "MODIFIED") and (not seen or seen[-1] != state):
                    seen.append(state)

    def of(self, prefix):
        """The different courses of the groups of a prefix."""
        return {tuple(states) for name, states in self.states.items() if name and name.startswith(f"{prefix}-")}
