# SPDX-License-Identifier: Apache-2.0
"""Routes of the mock console that answer one object: form, overview, problems, insights, system and the maps."""

import console_data as data


class Answers:
    """Routes that answer one object."""

    @staticmethod
    def form(server):
        text = {"type": "string"}
        schema = {
            "type": "object",
            "properties": {
                "owner": {**text, "description": "Person or team that asked for the run."},
                "forge": {"type": "object"},
                "executionEngine": {"type": "object"},
                "displayName": {**text, "description": "Name shown to people; need not be unique."},
                "pipeline": {**text, "default": "fournos-full", "description": "Tekton Pipeline that does the work."},
                "priority": {**text, "description": "WorkloadPriorityClass of the run."},
                "exclusive": {"type": "boolean", "description": "Take the whole cluster: no other job runs there meanwhile."},
                "env": {"type": "object", "additionalProperties": text, "description": "Environment of the run."},
                "secretRefs": {"type": "array", "items": text, "description": "Secrets handed to the run."},
                "ttl": {**text, "description": "Delete the job this long after it ended: 12h, 7d, 1h30m."},
                "lockOnly": {"type": "boolean", "description": "Hold the cluster and run nothing."},
            },
        }
        return {
            "schema": schema,
            "projects": [
                {"name": "llmd", "cluster": "cluster-1", "presets": ["cks", "nightly"], "configKeys": ["batch_size", "model"]},
                {"name": "mcp_gateway", "cluster": "cluster-2", "presets": [], "configKeys": []},
            ],
            "pipelines": ["forge-full", "forge-test-only"],
            "clusters": [
                {
                    "name": row["name"],
                    "state": row["state"],
                    "freeGpus": {row["gpus"][0]["type"]: row["gpus"][0]["total"] - row["gpus"][0]["used"]},
                    "locked": bool(row.get("lock")),
                }
                for row in server.rows["clusters"]
            ],
            "priorities": ["nightly", "urgent"],
            "owner": "fournos-dashboard",
            "templates": [
                {
                    "name": "smoke test",
                    "object": {
                        "apiVersion": "fournos.dev/v1",
                        "kind": "FournosJob",
                        "metadata": {"generateName": "smoke-"},
                        "spec": {"owner": "perf-team", "cluster": "cluster-1", "executionEngine": {"forge": {"project": "llmd", "args": ["cks"]}}},
                    },
                },
                *server.templates,
            ],
        }

    @staticmethod
    def queue(_):
        return data.queue()

    @staticmethod
    def mig(_):
        return data.mig()

    @staticmethod
    def numa(_):
        return data.numa()

    @staticmethod
    def objects(_):
        return {
            "object": {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "Workload",
                "metadata": {"name": "x"},
                "spec": {"queueName": "fournos", "active": True},
            },
            "events": [
                {
                    "last": data.ago(30),
                    "count": 1,
                    "type": "Normal",
                    "reason": "Pending",
                    "object": "Workload/x",
                    "message": "couldn't assign flavors",
                }
            ],
        }

    @staticmethod
    def gpus(_):
        return {
            "items": [
                {"key": owner, "gpuHours": hours, "jobs": n, "byType": {"a100": hours * 0.7, "h200": hours * 0.3}, "now": now}
                for owner, hours, n, now in (("alice", 212.4, 31, 4), ("perf-team", 148.0, 22, 8), ("bob", 61.5, 9, 2), ("carol", 12.0, 3, 0))
            ]
        }

    @staticmethod
    def overview(server):
        phases = {}
        for row in server.rows["jobs"]:
            if not row["archived"]:
                phases[row["phase"]] = phases.get(row["phase"], 0) + 1
        return {
            "jobs": {
                "phases": phases,
                "sparkline": [{"at": data.ago(3600 * (24 - h)), "finished": (h * 7) % 11, "failed": (h * 5) % 3} for h in range(24)],
            },
            "queue": {"waiting": 6, "oldestSeconds": 1834.0, "waitMedianSeconds": 42.0, "waitP90Seconds": 610.0},
            "gpus": [{"type": "a100", "total": 16, "used": 7, "free": 9}, {"type": "h200", "total": 8, "used": 8, "free": 0}],
            "clusters": {"Valid": 3, "DiscoveryFailed": 1},
            "locks": {"held": 1, "acquiring": 0, "expiringSoon": 1},
            "mig": {"used": 15, "total": 40, "unplaceable": 1},
            "numa": {"nodes": 4, "over90": 1},
            "appwrappers": {"Running": 1, "Suspended": 1, "Resetting": 1, "Succeeded": 1, "Failed": 1},
            "failures": [
                {"message": "Tasks Completed: 3 (Failed: 1, Cancelled 0), Skipped: 2", "count": 3, "last": data.ago(700), "job": {"ns": data.NS, "name": "forge-llmd-00008", "uid": "", "archived": False}}
            ],
            "partial": False,
        }

    @staticmethod
    def problems(_):
        return {
            "items": [
                {
                    "severity": "error",
                    "object": {"kind": "FournosCluster", "name": "cluster-4"},
                    "since": data.ago(900),
                    "text": "the API server does not answer: connection refused",
                    "action": "athanor clusters check cluster-4",
                },
                {
                    "severity": "warning",
                    "object": {"kind": "FournosJob", "ns": data.NS, "name": "forge-notebooks-00003"},
                    "since": data.ago(1834),
                    "text": "waits since 30m for a100 on cluster-1",
                    "action": "athanor queue --explain forge-notebooks-00003",
                },
                {
                    "severity": "warning",
                    "object": {"kind": "ClusterQueue", "name": "team"},
                    "since": data.ago(86400),
                    "text": "inactive: references missing ResourceFlavor spot",
                    "action": "kubectl describe clusterqueue team",
                },
            ],
            "total": 3,
        }

    @staticmethod
    def insights(_):
        groups = [
            {
                "by": by,
                "key": key,
                "jobs": 40 - 7 * i,
                "waitMedianSeconds": 30.0 + 20 * i,
                "waitP90Seconds": 400.0 - 60 * i,
                "runMedianSeconds": 210.0 + 40 * i,
                "runP90Seconds": 610.0 + 90 * i,
                "failed": i,
            }
            for by, keys in (("project", data.PROJECTS), ("pipeline", ["forge-full", "forge-test-only"]), ("cluster", data.CLUSTERS))
            for i, key in enumerate(keys)
        ]
        return {
            "groups": groups,
            "failures": [{"reason": "PipelineFailed", "count": 9}, {"reason": "ClusterLost", "count": 2}],
            "evictions": [{"ns": data.NS, "queue": "fournos", "count": 3, "last": data.ago(4000)}],
            "repairs": {
                "clusters": [{"cluster": "cluster-1", "count": 7, "fights": 2, "last": data.ago(400)}],
                "newest": [{"at": data.ago(400), "ns": "hearth", "cluster": "cluster-1", "fight": True}],
            },
            "utilisation": [
                {"cluster": name, "hour": h, "percent": float((h * 13 + i * 29) % 101)} for i, name in enumerate(data.CLUSTERS) for h in range(24)
            ],
        }

    @staticmethod
    def system(server):
        return {
            "version": "0.0.0-mock",
            "api": {"server": "https://127.0.0.1:6443", "version": "v1.33.2", "connected": True, "latencySeconds": 0.0021},
            "watches": [
                {
                    "kind": kind,
                    "listed": True,
                    "watching": kind != "nodes",
                    "events": 120,
                    "objects": 25,
                    "lists": 1,
                    "lagSeconds": {"nodes": 95.5, "workloads": 2.0}.get(kind, 0),
                    "quietSeconds": {"nodes": 95.5, "workloads": 140.0}.get(kind, 3.2),
                    "error": "403: nodes is forbidden" if kind == "nodes" else "",
                }
                for kind in ("fournosjobs", "workloads", "fournosclusters", "nodes")
            ],
            "controllers": {
                "source": "this lab",
                "items": [
                    {"name": "fournosjob", "state": "failing", "why": "1 key is tried again after an error", "queue": 3, "active": 1, "errors": 7, "failing": 1, "lastError": "psap/forge-1: no answer"},
                    {"name": "kubelet", "state": "healthy", "queue": 0, "active": 0, "errors": 0, "failing": 0},
                ],
                "ready": [{"check": "ping ok", "ok": True}],
                "leader": {"name": "athanor-system/athanor", "held": True, "holder": "athanor-controllers-1", "since": data.ago(7000), "renewed": data.ago(2)},
                "leads": True,
                "errors": [],
                "watches": [
                    {"kind": "fournosjobs", "group": "fournos.dev", "ns": data.NS, "listed": True, "watching": True, "events": 812, "lists": 1, "lagSeconds": 0, "quietSeconds": 12.0},
                    {"kind": "pods", "group": "", "listed": True, "watching": False, "events": 91, "lists": 2, "lagSeconds": 31.0, "quietSeconds": 31.0, "error": "no answer from the API server"},
                ],
            },
            "features": [
                {"name": name, "present": on, **({} if on else {"reason": f"the cluster has no kinds of {name}"})}
                for name, on in server.features.items()
            ],
            "history": {"backend": "sqlite", "connected": True, "jobs": 60, "queued": 0},
            "logs": {"bytes": 12_000_000, "limitBytes": 536_870_912},
            "viewers": len(server.streams),
            "audit": [{"at": data.ago(60), "user": "alice", "action": "lock", "object": "FournosCluster/cluster-2", "outcome": "200"}],
            "configuration": [{"name": "CONSOLE_ADDR", "value": "127.0.0.1:8000"}, {"name": "DATABASE_URL", "value": "postgresql://***"}],
        }
