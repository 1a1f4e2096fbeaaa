# SPDX-License-Identifier: Apache-2.0
"""The invented answers of the browser tests are as openapi.json describes real ones: a member that only the mock sends is one that pages read in vain."""

from console_browser import ROOT, Console
from console_client import Console as Client
from console_schemas import Schemas

ROUTES = ["jobs", "clusters", "workloads", "appwrappers", "nodes", "schedules", "locks", "queue", "overview", "problems", "insights", "system", "mig", "mig/history", "numa", "gpus", "session", "form"]


def test_invented_answers_are_as_described(lab):
    schemas = Schemas(Client(lab).get("/openapi.json"))
    mock = Console(0, ROOT / "web/dist").start()
    try:
        invented = Client.__new__(Client)
        invented.port, invented.host = mock.server_address[1], f"127.0.0.1:{mock.server_address[1]}"
        wrong = {
            fault
            for route in ROUTES
            for fault in schemas.faults(invented.get(f"/api/v1/{route}"), schemas.answer("GET", f"/api/v1/{route}"), route)
            if "is not described" in fault
        }
        assert not wrong, "\n".join(sorted(wrong))
    finally:
        mock.shutdown()
        mock.server_close()
