// SPDX-License-Identifier: Apache-2.0
// The seed dialect from creation to its end (docs/spec/fournos.md sections 5, 7-10, acceptance
// A1-A16).
#include "lab.hpp"
#include "runtime/view/failures.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::fournos::seed_test {
namespace {

using SeedJob = Lab;

std::string with_forge(const Value& spec) {
  Value whole = spec;
  whole.set("forge", yaml_value("{project: p, args: []}"));
  return yaml::print(whole);
}

TEST_F(SeedJob, CreationTable) {
  int number = 0;
  const Value table = yaml_value(read_file("tests/unit/systems/fournos/creation.yaml"));
  for (const Value& row : table.items()) {
    SCOPED_TRACE(row["name"].str());
    const std::string job = "job-" + std::to_string(number++);
    submit(job, row.contains("spec") ? yaml::print(row["spec"]) : "");
    const Value first = status_writes(job).at(0);
    EXPECT_EQ(first["phase"], row["phase"]);
    EXPECT_EQ(first["message"], row["message"]);
    if (row.contains("then")) {
      EXPECT_EQ(message(job), row["then"].str());
    }
    EXPECT_EQ(has_workload(job), first["phase"].as_string() == "Pending");
    EXPECT_EQ(first.contains("conditions"), first["phase"].as_string() == "Pending");
    const Object object = world.must(api::kFournosJob, key(job));
    if (row.contains("exclusive")) {
      EXPECT_EQ(object.spec()["exclusive"], row["exclusive"]);
    }
    EXPECT_EQ(object.spec().contains("exclusive"), row.contains("spec"));
    EXPECT_EQ(object.label("fournos.dev/exclusive-cluster"), row["label"].as_string());
  }
}

TEST_F(SeedJob, DialectDefaultIsPatchedBeforeTheFirstStatus) {
  submit("job", kShared);
  ASSERT_GE(world.writes.size(), 3U);
  EXPECT_EQ(world.writes[0].verb, "patch");
  EXPECT_EQ(world.writes[0].body, yaml_value("{spec: {exclusive: false}}"));
  EXPECT_EQ(world.writes[1].verb, "create");
  EXPECT_EQ(world.writes[2].verb, "status");
  EXPECT_EQ(status("job")["conditions"].size(), 1U);
  const Value& entry = world.writes[2].body["conditions"][0];
  EXPECT_EQ(entry["type"], Value("WorkloadAdmitted"));
  EXPECT_EQ(entry["message"], Value("Workload created, waiting for Kueue admission"));
  EXPECT_EQ(world.event_count("Pending", "job"), 1);
}

TEST_F(SeedJob, UnlistableKinds) {
  world.fail_observation(unreadable_query(api::kueue::kResourceFlavor),
                         {.code = 403, .reason = "Forbidden"});
  submit("a", kShared);
  EXPECT_EQ(message("a"), "Failed to list clusters: Forbidden");
  world.fail_observation(unreadable_query(api::kueue::kResourceFlavor),
                         {.code = 503, .reason = "Unavailable"});
  submit("b", kShared);
  EXPECT_EQ(phase("b"), "");
  EXPECT_FALSE(world.errors.empty());
  world.forget_observation(unreadable_query(api::kueue::kResourceFlavor));
  settle();
  EXPECT_EQ(phase("b"), "Pending");
  world.fail_observation(unreadable_query(api::kueue::kClusterQueue),
                         {.code = 401, .reason = "Unauthorized"});
  submit("c", "{hardware: {gpuType: a100, gpuCount: 1}, forge: {project: p, args: []}}");
  EXPECT_EQ(message("c"), "Failed to list GPU types: Unauthorized");
}

TEST_F(SeedJob, WaitsForKindsThatTheClusterLacks) {
  const Error missing{.code = 404, .reason = "NotFound"};
  for (const Kind* kind : {&api::kueue::kWorkload, &api::kueue::kResourceFlavor, &api::kPipeline,
                           &api::kPipelineRun}) {
    world.fail_observation(unreadable_query(*kind), missing);
  }
  submit("job", kShared);
  EXPECT_EQ(phase("job"), "");
  EXPECT_EQ(message("job"),
            "Waiting for kinds that the cluster does not have: workloads.kueue.x-k8s.io, "
            "resourceflavors.kueue.x-k8s.io, pipelines.tekton.dev, pipelineruns.tekton.dev");
  EXPECT_TRUE(world.errors.empty()) << "waiting is no failure";
  submit("lock", "{lockOnly: true, cluster: cluster-2}");
  EXPECT_EQ(message("lock"),
            "Waiting for kinds that the cluster does not have: workloads.kueue.x-k8s.io, "
            "resourceflavors.kueue.x-k8s.io");
  submit("stopped", "{cluster: cluster-1, shutdown: Stop, forge: {project: p, args: []}}");
  EXPECT_EQ(phase("stopped"), "Stopped");

  world.forget_observation(unreadable_query(api::kueue::kWorkload));
  world.forget_observation(unreadable_query(api::kueue::kResourceFlavor));
  settle();
  EXPECT_EQ(message("job"),
            "Waiting for kinds that the cluster does not have: pipelines.tekton.dev, "
            "pipelineruns.tekton.dev");
  EXPECT_EQ(phase("lock"), "Pending");
  world.forget_observation(unreadable_query(api::kPipeline));
  world.forget_observation(unreadable_query(api::kPipelineRun));
  settle();
  EXPECT_EQ(phase("job"), "Pending");
  EXPECT_EQ(message("job"), "Waiting for Kueue admission");
}

// A kind that vanishes takes its objects along: nothing is failed, evicted or made on that account.
TEST_F(SeedJob, KindsThatVanishStopNothing) {
  const Error missing{.code = 404, .reason = "NotFound"};
  submit("pending", kShared);
  start("running", kShared);
  world.remove(api::kueue::kWorkload, key("pending"));
  world.remove(api::kueue::kWorkload, key("running"));
  world.remove(api::kPipelineRun, key("running"));
  world.fail_observation(unreadable_query(api::kueue::kWorkload), missing);
  world.fail_observation(unreadable_query(api::kPipelineRun), missing);
  settle();
  EXPECT_EQ(phase("pending"), "Pending");
  EXPECT_FALSE(has_workload("pending"));
  EXPECT_EQ(phase("running"), "Running");
  for (const char* name : {"pending", "running"}) {
    EXPECT_EQ(message(name),
              "Waiting for kinds that the cluster does not have: workloads.kueue.x-k8s.io, "
              "pipelineruns.tekton.dev");
  }
  world.forget_observation(unreadable_query(api::kueue::kWorkload));
  world.forget_observation(unreadable_query(api::kPipelineRun));
  settle();
  EXPECT_TRUE(has_workload("pending"));
  EXPECT_EQ(message("pending"), "Waiting for Kueue admission");
}

TEST_F(SeedJob, NoGpuTypes) {
  world.remove(api::kueue::kClusterQueue, {"", "fournos-queue"});
  submit("job", "{hardware: {gpuType: a100, gpuCount: 1}, forge: {project: p, args: []}}");
  EXPECT_EQ(message("job"), "No GPU types configured");
}

TEST_F(SeedJob, NamesTooLong) {
  const std::string longest(63, 'a');
  submit(longest, kShared);
  EXPECT_EQ(phase(longest), "Pending");
  submit(longest + "a", kShared);
  EXPECT_EQ(message(longest + "a"), "metadata.name must be at most 63 characters");
  const std::string engine(56, 'b');
  submit(engine, "{cluster: cluster-1, executionEngine: {none: {}}}");
  EXPECT_EQ(message(engine), "metadata.name must be at most 55 characters");
}

TEST_F(SeedJob, ClusterNameThatIsNoLabelIsSkipped) {
  const std::string cluster(64, 'c');
  put("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: " + cluster +
      "}}");
  submit("job", "{exclusive: true, cluster: " + cluster + ", forge: {project: p, args: []}}");
  EXPECT_EQ(phase("job"), "Pending");
  EXPECT_TRUE(
      world.must(api::kFournosJob, key("job")).label("fournos.dev/exclusive-cluster").empty());
}

TEST_F(SeedJob, WorkloadIsExact) {
  submit(
      "job",
      R"({cluster: cluster-4, exclusive: true, priority: manual, hardware: {gpuType: h200, gpuCount: 4},
                    forge: {project: mix, args: [long]}})");
  const Object object = workload("job");
  const std::string uid(world.must(api::kFournosJob, key("job")).uid());
  EXPECT_EQ(object.metadata()["labels"], yaml_value(R"({kueue.x-k8s.io/queue-name: fournos-queue,
      app.kubernetes.io/managed-by: fournos, fournos.dev/job-name: job})"));
  EXPECT_EQ(object.metadata()["ownerReferences"],
            yaml_value("[{apiVersion: fournos.dev/v1, kind: FournosJob, name: job, uid: " + uid +
                       ", controller: true, blockOwnerDeletion: true}]"));
  EXPECT_EQ(object.spec(), yaml_value(R"({
      queueName: fournos-queue, priority: 200,
      priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: manual},
      podSets: [{name: launcher, count: 1, template: {spec: {
        nodeSelector: {fournos.dev/cluster: cluster-4}, restartPolicy: Never,
        containers: [{name: placeholder, image: "pause:3.9",
          resources: {requests: {fournos/cluster-slot: "100", fournos/gpu-h200: "4"}}}]}}}]})"));
}

TEST_F(SeedJob, SharedWorkloadWithoutClusterHasNoSelector) {
  submit("job", "{hardware: {gpuType: a100, gpuCount: 2}, forge: {project: p, args: []}}");
  const Value pod = workload("job").spec()["podSets"][0]["template"]["spec"];
  EXPECT_FALSE(pod.contains("nodeSelector"));
  EXPECT_EQ(pod["containers"][0]["resources"]["requests"],
            yaml_value(R"({fournos/cluster-slot: "1", fournos/gpu-a100: "2"})"));
  EXPECT_FALSE(workload("job").spec().contains("priority"));
}

TEST_F(SeedJob, RefusedWorkloadFailsTheJob) {
  world.fault = [](const Step& step) -> std::optional<Error> {
    return std::holds_alternative<Create>(step)
               ? std::optional(Error{.code = 422, .reason = "Invalid"})
               : std::nullopt;
  };
  submit("job", kShared);
  EXPECT_EQ(message("job"), "Failed to create Workload: Unprocessable Entity");
  EXPECT_EQ(phase("job"), "Failed");
}

TEST_F(SeedJob, OverloadIsRetriedWithoutAPhase) {
  int refusals = 3;
  world.fault = [&](const Step& step) -> std::optional<Error> {
    return std::holds_alternative<Create>(step) && refusals-- > 0
               ? std::optional(Error::unavailable("busy"))
               : std::nullopt;
  };
  submit("job", kShared);
  EXPECT_EQ(phase("job"), "");
  settle_for(std::chrono::seconds(30));
  EXPECT_EQ(phase("job"), "Pending");
}

TEST_F(SeedJob, WaitingTable) {
  int number = 0;
  const Value table = yaml_value(read_file("tests/unit/systems/fournos/waiting.yaml"));
  for (const Value& row : table.items()) {
    SCOPED_TRACE(row["name"].str());
    const std::string job = "job-" + std::to_string(number++);
    submit(job, with_forge(row["spec"]));
    world.update(api::kueue::kWorkload, key(job), [&](Value& object) {
      object.set_path({"status", "conditions"}, row["conditions"]);
    });
    settle();
    EXPECT_EQ(phase(job), "Pending");
    EXPECT_EQ(message(job), row["message"].str());
    EXPECT_EQ(condition(job, "WorkloadAdmitted"),
              "False/" + row["reason"].str() + " " + row["message"].str());
    const std::size_t before = write_count();
    world.update(api::kueue::kWorkload, key(job), [](Value& object) {
      object.set_path({"metadata", "labels", "x"}, "y");
    });
    settle();
    EXPECT_EQ(write_count(), before) << "the same message is not written again";
  }
}

// A8, A31: the holder's name, found by its label; a lock without `exclusive` counts as well.
TEST_F(SeedJob, NamesTheHolderOfTheCluster) {
  start("holder", "{cluster: cluster-2, exclusive: true, forge: {project: p, args: []}}",
        "cluster-2");
  submit("other", "{cluster: cluster-2, forge: {project: p, args: []}}");
  workload_says(
      "other", "QuotaReserved", "False", "Pending",
      "insufficient unused quota for fournos/cluster-slot in flavor cluster-2, 1 more needed");
  EXPECT_EQ(message("other"),
            "Cluster cluster-2 is exclusively locked by job holder, waiting for it to finish");
  run_says("holder", "True", "", true);
  EXPECT_EQ(message("other"),
            "Cluster cluster-2 is exclusively locked by another job, waiting for it to finish");
  submit("sentinel", "{cluster: cluster-2, exclusive: false, lockOnly: true}");
  admit("sentinel", "cluster-2");
  EXPECT_EQ(message("sentinel"), "Cluster lock held on cluster-2");
  EXPECT_EQ(message("other"),
            "Cluster cluster-2 is exclusively locked by job sentinel, waiting for it to finish");
}

// Slots that Hearth took away are no lock: whoever waits for a job to end would wait for ever.
TEST_F(SeedJob, NamesReasonOfSlotsClosedByHearth) {
  const std::string kBusy =
      "insufficient unused quota for fournos/cluster-slot in flavor cluster-2, 1 more needed";
  world.put(yaml_value(
      "{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: cluster-2, namespace: "
      "hearth}, spec: {}}"));
  struct Row {
    const char* spec;
    const char* status;
    const char* annotation;
    const char* message;
  };
  constexpr const char* kCordoned =
      "Cluster cluster-2 is cordoned and admits nothing, waiting until it is uncordoned";
  constexpr const char* kLocked =
      "Cluster cluster-2 is exclusively locked by another job, waiting for it to finish";
  const Row rows[] = {
      {"{cordoned: true}", "{kubeconfigStatus: Valid}", "", kCordoned},
      {"{}", "{kubeconfigStatus: Valid}", "true", kLocked},
      {"{}", "{kubeconfigStatus: Unreachable}", "true", kCordoned},
      {"{}",
       "{kubeconfigStatus: Unreachable, conditions: [{type: KubeconfigValid, status: 'False', "
       "message: connection refused}]}",
       "", "Cluster cluster-2 is unreachable (connection refused), waiting until it answers"},
      {"{owner: ann}", "{lockState: Acquiring, lockJobName: sentinel}", "",
       "Cluster cluster-2 is reserved for ann, whose lock waits for running jobs"},
      {"{owner: ann}",
       "{lockState: Acquiring, lockJobName: sentinel, lockExpiresAt: '2026-01-05T04:00:00Z'}", "",
       "Cluster cluster-2 is reserved for ann until 2026-01-05T04:00:00Z, whose lock waits for "
       "running jobs"},
      {"{owner: ann}", "{lockState: Held, lockJobName: sentinel}", "",
       "Cluster cluster-2 is locked for ann until it is unlocked, waiting for the lock to end"},
      {"{owner: ann}",
       "{lockState: Held, lockJobName: sentinel, lockExpiresAt: '2026-01-05T04:00:00Z'}", "",
       "Cluster cluster-2 is locked for ann until 2026-01-05T04:00:00Z, waiting for the lock to "
       "end"},
      {"{}",
       "{kubeconfigStatus: Valid, conditions: [{type: KueueSynced, status: 'False', reason: "
       "SameCluster, message: its API server is that of FournosCluster a}]}",
       "", "Cluster cluster-2 admits nothing: its API server is that of FournosCluster a"},
  };
  int number = 0;
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.spec) + row.status + row.annotation);
    world.update(api::kFournosCluster, {"hearth", "cluster-2"}, [&](Value& object) {
      object.set("spec", yaml_value(row.spec)).set("status", yaml_value(row.status));
      object.set_path({"metadata", "annotations", "fournos.dev/auto-cordon"}, row.annotation);
    });
    const std::string job = "job-" + std::to_string(number++);
    submit(job, "{cluster: cluster-2, forge: {project: p, args: []}}");
    workload_says(job, "QuotaReserved", "False", "Pending", kBusy);
    EXPECT_EQ(message(job), row.message);
  }
}

TEST_F(SeedJob, ReportsAPinnedClusterWithoutAPlace) {
  world.put(yaml_value(
      "{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: cluster-2, namespace: "
      "hearth}, status: {kubeconfigStatus: Valid, conditions: [{type: KueueSynced, status: "
      "'False', reason: QuotaLimit, message: 64 clusters are the most}]}}"));
  submit("job", "{cluster: cluster-2, forge: {project: p, args: []}}");
  workload_says("job", "QuotaReserved", "False", "Pending",
                "couldn't assign flavors to pod set launcher: flavor cluster-1 doesn't match node "
                "affinity");
  EXPECT_EQ(message("job"),
            "Cluster cluster-2 has no place in any ClusterQueue (QuotaLimit: 64 clusters are the "
            "most), waiting until it gets one");
  world.update(api::kueue::kClusterQueue, {"", "fournos-queue"}, [](Value& queue) {
    queue.set_path({"spec", "resourceGroups"},
                   yaml_value("[{coveredResources: [fournos/cluster-slot], flavors: [{name: "
                              "cluster-2}]}]"));
  });
  settle();
  EXPECT_TRUE(message("job").starts_with("Waiting for admission: ")) << message("job");
}

TEST_F(SeedJob, NamesCordonsOfAllEligibleClusters) {
  const std::string kBusy =
      "couldn't assign flavors to pod set launcher: insufficient quota for fournos/cluster-slot in "
      "flavor cluster-1, request > maximum capacity (1 > 0), insufficient unused quota for "
      "fournos/cluster-slot in flavor cluster-2, 1 more needed";
  for (const char* cluster : {"cluster-1", "cluster-2"}) {
    world.put(yaml_value("{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: " +
                         std::string(cluster) + ", namespace: hearth}, spec: {cordoned: true}}"));
  }
  submit("any", "{hardware: {gpuType: a100, gpuCount: 2}, forge: {project: p, args: []}}");
  workload_says("any", "QuotaReserved", "False", "Pending", kBusy);
  EXPECT_EQ(message("any"), "All eligible clusters are cordoned, waiting until one is uncordoned");
  world.update(api::kFournosCluster, {"hearth", "cluster-1"},
               [&](Value& object) { object.set("spec", yaml_value("{cordoned: false}")); });
  submit("more", "{hardware: {gpuType: a100, gpuCount: 2}, forge: {project: p, args: []}}");
  workload_says("more", "QuotaReserved", "False", "Pending", kBusy);
  EXPECT_EQ(message("more"),
            "All eligible clusters are exclusively locked, waiting for availability");
}

TEST_F(SeedJob, CallsAFullClusterNotCordoned) {
  const std::string kBusy =
      "couldn't assign flavors to pod set launcher: insufficient quota for fournos/cluster-slot in "
      "flavor cluster-1, request > maximum capacity (1 > 0), insufficient unused quota for "
      "fournos/gpu-a100 in flavor cluster-2, 2 more needed";
  world.put(
      yaml_value("{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: "
                 "cluster-1, namespace: hearth}, spec: {cordoned: true}}"));
  submit("any", "{hardware: {gpuType: a100, gpuCount: 2}, forge: {project: p, args: []}}");
  workload_says("any", "QuotaReserved", "False", "Pending", kBusy);
  EXPECT_EQ(message("any"), "Waiting for admission: " + kBusy);
}

TEST_F(SeedJob, WaitsForAnUnreachableCluster) {
  world.put(yaml_value(
      "{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: cluster-2, namespace: "
      "hearth}, spec: {}, status: {kubeconfigStatus: Unreachable, conditions: [{type: "
      "KubeconfigValid, status: 'False', message: no such host}]}}"));
  submit("job", "{cluster: cluster-2, forge: {project: p, args: []}}");
  admit("job", "cluster-2");
  EXPECT_EQ(status("job")["phase"], Value("Admitted"));
  EXPECT_EQ(message("job"),
            "Cluster cluster-2 is unreachable (no such host), waiting until it answers");
  EXPECT_FALSE(world.get(api::kPipelineRun, {"bench", "job"}));
  world.update(api::kFournosCluster, {"hearth", "cluster-2"}, [&](Value& object) {
    object.set("status", yaml_value("{kubeconfigStatus: Valid}"));
  });
  settle();
  EXPECT_EQ(status("job")["phase"], Value("Running"));
}

TEST_F(SeedJob, AdmissionGivesTheCluster) {
  submit("job", "{hardware: {gpuType: a100, gpuCount: 2}, forge: {project: p, args: []}}");
  admit("job", "cluster-2");
  EXPECT_EQ(status("job")["cluster"], Value("cluster-2"));
  EXPECT_EQ(condition("job", "WorkloadAdmitted"), "True/Admitted Assigned to cluster cluster-2");
  EXPECT_EQ(phases("job"), "Pending Admitted Running");
  EXPECT_EQ(world.event_count("Admitted", "job"), 1);
}

TEST_F(SeedJob, PrefersSlotFlavorThenGpuFlavorThenFirst) {
  const auto admitted_with = [&](const std::string& job, const std::string& flavors) {
    submit(job, kShared);
    world.update(api::kueue::kWorkload, key(job), [&](Value& object) {
      object.set("status",
                 yaml_value("{conditions: [{type: Admitted, status: \"True\"}], admission: "
                            "{podSetAssignments: [{flavors: " +
                            flavors + "}]}}"));
    });
    settle();
    return status(job)["cluster"].str();
  };
  EXPECT_EQ(admitted_with("a", "{cpu: c1, fournos/gpu-a100: c2, fournos/cluster-slot: c3}"), "c3");
  EXPECT_EQ(admitted_with("b", "{cpu: c1, fournos/gpu-a100: c2}"), "c2");
  EXPECT_EQ(admitted_with("c", "{memory: c2, cpu: c1}"), "c1");
}

// A14.
TEST_F(SeedJob, AdmittedWithoutFlavorFails) {
  submit("job", kShared);
  workload_says("job", "Admitted", "True", "Admitted", "by hand");
  EXPECT_EQ(phase("job"), "Failed");
  EXPECT_EQ(message("job"), "Workload admitted but no flavor assigned");
  EXPECT_EQ(condition("job", "WorkloadAdmitted"),
            "False/NoFlavorAssigned Workload was admitted but no ResourceFlavor was assigned");
  EXPECT_FALSE(has_workload("job"));
}

TEST_F(SeedJob, MissingWorkloadIsMadeAgain) {
  submit("job", kShared);
  world.remove(api::kueue::kWorkload, key("job"));
  settle();
  EXPECT_TRUE(has_workload("job"));
  EXPECT_EQ(phase("job"), "Pending");
  EXPECT_EQ(status_writes("job").at(2)["message"], Value("Workload missing, recreated"));
}

TEST_F(SeedJob, PipelineRunIsExact) {
  configure({{"FOURNOS_TEKTON_DASHBOARD_URL", "https://tkn.example//"}});
  submit(
      "job",
      R"({displayName: mixtral sweep, pipeline: mix-bench, cluster: cluster-4, secretRefs: [a, b],
                    hardware: {gpuType: h200, gpuCount: 4}, env: {RUN_KIND: a b},
                    forge: {project: mix, args: [long], configOverrides: {batch: 64}}})");
  admit("job", "cluster-4");
  const Object object = run("job");
  EXPECT_EQ(object.metadata()["labels"],
            yaml_value("{app.kubernetes.io/managed-by: fournos, fournos.dev/job-name: job}"));
  EXPECT_EQ(object.annotation("fournos.dev/cluster"), "cluster-4");
  EXPECT_EQ(object.spec(), yaml_value(R"(
pipelineRef: {name: mix-bench}
params:
- {name: job-name, value: mixtral sweep}
- {name: forge-project, value: mix}
- name: forge-config
  value: |
    args:
    - long
    configOverrides:
      batch: 64
    project: mix
- {name: env, value: "RUN_KIND='a b'\n"}
- {name: kubeconfig-secret, value: cluster-4-kubeconfig}
- {name: gpu-count, value: "4"}
- {name: secret-refs, value: [a, b]}
)"));
  EXPECT_EQ(status("job")["dashboardURL"],
            Value("https://tkn.example/#/namespaces/bench/pipelineruns/job"));
  EXPECT_EQ(status("job")["pipelineRun"], Value("job"));
}

TEST_F(SeedJob, DefaultsOfTheParameters) {
  start("job", kShared);
  const Value params = run("job").spec()["params"];
  EXPECT_EQ(params[0], yaml_value("{name: job-name, value: job}"));
  EXPECT_EQ(params[3], yaml_value("{name: env, value: ''}"));
  EXPECT_EQ(params[5], yaml_value("{name: gpu-count, value: '0'}"));
  EXPECT_EQ(params[6], yaml_value("{name: secret-refs, value: []}"));
  EXPECT_EQ(run("job").spec()["pipelineRef"]["name"], Value("fournos-full"));
  EXPECT_FALSE(status("job").contains("dashboardURL"));
}

TEST_F(SeedJob, PassesParametersThatEnginePipelineDeclares) {
  put(R"({apiVersion: tekton.dev/v1, kind: Pipeline, metadata: {name: fournos-full, namespace: bench},
          spec: {params: [{name: fjob-name}, {name: fournos-workload-namespace}, {name: kubeconfig-secret}],
                 workspaces: [{name: artifacts}]}})");
  start("job", kShared);
  const Value spec = run("job").spec();
  EXPECT_EQ(spec["params"].size(), 9U);
  EXPECT_EQ(spec["params"][7], yaml_value("{name: fjob-name, value: job}"));
  EXPECT_EQ(spec["params"][8], yaml_value("{name: fournos-workload-namespace, value: bench}"));
  EXPECT_EQ(spec["workspaces"][0]["name"], Value("artifacts"));
  EXPECT_EQ(spec["taskRunTemplate"]["podTemplate"]["volumes"],
            yaml_value("[{name: vault-secrets, projected: {sources: []}}]"));
}

TEST_F(SeedJob, FailsJobAndFreesClusterOnRefusedRun) {
  submit("job", kShared);
  world.fault = [](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    return create != nullptr && create->target.kind == &api::kPipelineRun
               ? std::optional(Error{.code = 400, .reason = "BadRequest"})
               : std::nullopt;
  };
  admit("job", "cluster-1");
  EXPECT_EQ(message("job"), "Failed to create PipelineRun: Bad Request");
  EXPECT_EQ(condition("job", "PipelineRunReady"),
            "False/CreateFailed Failed to create PipelineRun: Bad Request");
  EXPECT_FALSE(has_workload("job"));
}

TEST_F(SeedJob, RunTable) {
  int number = 0;
  const Value table = yaml_value(read_file("tests/unit/systems/fournos/runs.yaml"));
  for (const Value& row : table.items()) {
    SCOPED_TRACE(row["name"].str());
    const std::string job = "job-" + std::to_string(number++);
    start(job, kShared);
    if (row.contains("status")) {
      run_says(job, row["status"].as_string(), row["text"].as_string(), row["over"].as_bool());
    }
    EXPECT_EQ(phase(job), row["phase"].str());
    EXPECT_EQ(message(job), row["message"].str());
    EXPECT_EQ(condition(job, "PipelineRunReady"), row["condition"].str());
    EXPECT_EQ(has_workload(job), row["workload"].as_bool());
    EXPECT_EQ(status(job).contains("completionTime"), row["over"].as_bool());
  }
}

// A1 and R12.1, R12.3: the history of conditions at the end, the last one set at the end.
TEST_F(SeedJob, ConditionsAtTheEnd) {
  start("job", kShared);
  run_says("job", "True", "done", true);
  EXPECT_EQ(phases("job"), "Pending Admitted Running Succeeded");
  const Value conditions = status("job")["conditions"];
  ASSERT_EQ(conditions.size(), 2U);
  EXPECT_EQ(conditions[0]["type"], Value("WorkloadAdmitted"));
  EXPECT_EQ(condition("job", "WorkloadAdmitted"), "True/Admitted Assigned to cluster cluster-1");
  EXPECT_EQ(condition("job", "PipelineRunReady"), "True/Succeeded done");
  EXPECT_EQ(status("job")["cluster"], Value("cluster-1"));
  EXPECT_EQ(world.event_count("Succeeded", "job"), 1);
}

TEST_F(SeedJob, LostRunFails) {
  start("job", kShared);
  world.remove(api::kPipelineRun, key("job"));
  settle();
  EXPECT_EQ(message("job"), "PipelineRun not found");
  EXPECT_EQ(condition("job", "PipelineRunReady"), "False/NotFound PipelineRun job not found");
  EXPECT_FALSE(has_workload("job"));
}

// R10.1: the terminal phase is not written while the Workload cannot be deleted.
TEST_F(SeedJob, ClusterIsFreedBeforeTheEndIsWritten) {
  start("job", kShared);
  bool broken = true;
  world.fault = [&](const Step& step) -> std::optional<Error> {
    return broken && std::holds_alternative<Delete>(step) ? std::optional(Error::internal("down"))
                                                          : std::nullopt;
  };
  run_says("job", "True", "", true);
  EXPECT_EQ(phase("job"), "Running");
  broken = false;
  settle_for(std::chrono::minutes(2));
  EXPECT_EQ(phase("job"), "Succeeded");
  EXPECT_FALSE(has_workload("job"));
}

// A15, R14.1: a crash after every single write ends the same way, with one child of each kind.
TEST_F(SeedJob, CrashAfterAnyWrite) {
  for (int survive = 0; survive < 12; ++survive) {
    SCOPED_TRACE(survive);
    const std::string job = "job-" + std::to_string(survive);
    int left = survive;
    world.fault = [&](const Step& step) -> std::optional<Error> {
      if (std::holds_alternative<Emit>(step) || left-- > 0) {
        return std::nullopt;
      }
      world.fault = {};
      return Error::unavailable("crash");
    };
    submit(job, kShared);
    world.restart();
    settle();
    world.advance(std::chrono::minutes(1));
    admit(job, "cluster-1");
    world.restart();
    settle();
    run_says(job, "True", "done", true);
    world.restart();
    settle();
    EXPECT_EQ(phase(job), "Succeeded");
    EXPECT_FALSE(has_workload(job));
    EXPECT_TRUE(has_run(job));
    EXPECT_FALSE(status(job).contains("evictions"));
    EXPECT_EQ(phases(job), "Pending Admitted Running Succeeded");
  }
}

TEST_F(SeedJob, AtRestNothingIsWritten) {
  start("job", kShared);
  submit("waiting", kShared);
  const std::size_t before = write_count();
  settle_for(std::chrono::hours(1));
  EXPECT_EQ(write_count(), before);
}

TEST_F(SeedJob, OtherNamespacesAreLeftAlone) {
  put("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: job, namespace: elsewhere}, "
      "spec: {cluster: cluster-1}}");
  settle();
  EXPECT_TRUE(world.must(api::kFournosJob, {"elsewhere", "job"}).status().is_null());
}

// A29, R7.2, R14.9: children of an earlier job of the same name are replaced, never adopted.
TEST_F(SeedJob, RecreatedJobDoesNotAdopt) {
  const char* leftover =
      R"({apiVersion: %, kind: %, metadata: {name: job, namespace: bench, ownerReferences: [
      {apiVersion: fournos.dev/v1, kind: FournosJob, name: job, uid: old, controller: true}]}})";
  for (const auto& [version, kind] : {std::pair{"kueue.x-k8s.io/v1beta2", "Workload"},
                                      std::pair{"tekton.dev/v1", "PipelineRun"}}) {
    std::string text = leftover;
    text.replace(text.find('%'), 1, version);
    text.replace(text.find('%'), 1, kind);
    put(text);
  }
  submit("job", kShared);
  const std::string uid(world.must(api::kFournosJob, key("job")).uid());
  EXPECT_TRUE(workload("job").owned_by(uid));
  admit("job", "cluster-1");
  EXPECT_EQ(phase("job"), "Running");
  EXPECT_TRUE(run("job").owned_by(uid));
}

// A12, R1.3: deletion needs no handler.
TEST_F(SeedJob, DeletionTakesTheChildrenAlong) {
  start("job", kShared);
  world.remove(api::kFournosJob, key("job"));
  settle();
  EXPECT_FALSE(has_workload("job"));
  EXPECT_FALSE(has_run("job"));
}

TEST_F(SeedJob, UpstreamFinalizerIsDropped) {
  put(R"({apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: job, namespace: bench,
      finalizers: [kopf.zalando.org/KopfFinalizerMarker, keep.me/here]}, status: {phase: Succeeded}})");
  settle();
  EXPECT_EQ(world.must(api::kFournosJob, key("job")).metadata()["finalizers"],
            yaml_value("[keep.me/here]"));
}

// A status that others write stays (docs/spec/fournos.md A26, R12.2).
TEST_F(SeedJob, ForeignStatusSurvives) {
  start("job", kShared);
  world.update(api::kFournosJob, key("job"), [](Value& object) {
    object.set_path({"status", "engineStatus", "step"}, 3);
  });
  run_says("job", "True", "", true);
  EXPECT_EQ(status("job")["engineStatus"]["step"].as_int(), 3);
}

TEST_F(SeedJob, TtlDeletesTheFinishedJob) {
  submit("job", "{cluster: cluster-1, ttl: 1h30m, forge: {project: p, args: []}}");
  admit("job", "cluster-1");
  run_says("job", "True", "", true);
  settle_for(std::chrono::minutes(89));
  EXPECT_TRUE(world.has(api::kFournosJob, key("job")));
  settle_for(std::chrono::minutes(2));
  EXPECT_FALSE(world.has(api::kFournosJob, key("job")));
}

TEST_F(SeedJob, ScheduledJobStartsInTime) {
  submit("job",
         "{cluster: cluster-1, scheduledStartTime: '2026-01-05T02:00:00Z', forge: {project: p, "
         "args: []}}");
  EXPECT_EQ(phase("job"), "Scheduled");
  settle_for(std::chrono::hours(2) - std::chrono::seconds(1));
  EXPECT_EQ(phase("job"), "Scheduled");
  settle_for(std::chrono::seconds(2));
  EXPECT_EQ(phase("job"), "Pending");
}

// A30: ten thousand waiting jobs cost nothing while nothing happens to them.
TEST_F(SeedJob, ReadsStayNarrow) {
  submit("job", kShared);
  EXPECT_TRUE(world.reconcile(fournosjob_operator(), key("job")).steps().empty());
  EXPECT_LE(world.last_reads().objects.size(), 2U);
  EXPECT_TRUE(world.last_reads().lists.empty());
  workload_says("job", "QuotaReserved", "False", "Pending",
                "insufficient unused quota for fournos/cluster-slot");
  EXPECT_TRUE(world.reconcile(fournosjob_operator(), key("job")).steps().empty());
  ASSERT_EQ(world.last_reads().lists.size(), 1U);
  EXPECT_EQ(world.last_reads().lists[0].select.labels.size(), 1U);
}

}  // namespace
}  // namespace athanor::fournos::seed_test
