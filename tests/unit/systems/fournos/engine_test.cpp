// SPDX-License-Identifier: Apache-2.0
// The engine dialect: resolving, secrets, clusterless runs (docs/spec/fournos.md sections 6, 9.2,
// 21).
#include "lab.hpp"
#include "runtime/view/failures.hpp"
#include "runtime/view/live.hpp"
#include "runtime/view/step.hpp"

namespace athanor::fournos::engine_test {
namespace {

class EngineJob : public Lab {
 protected:
  EngineJob() {
    put(R"({apiVersion: tekton.dev/v1, kind: Pipeline, metadata: {name: mix-bench, namespace: bench,
        annotations: {fournos.dev/resolve-image: "mix-engine:7"}}, spec: {params: [{name: fjob-name}]}})");
    put(R"({apiVersion: v1, kind: Secret, metadata: {name: kubeconfig-cluster-4, namespace: psap-secrets},
        type: Opaque, data: {kubeconfig: bW9jaw==}})");
    put(R"({apiVersion: v1, kind: Secret, metadata: {name: vault-hf-token, namespace: psap-secrets,
        labels: {fournos.dev/vault-entry: "true"}}, type: Opaque, data: {user: Ym90, token: czNjcjN0}})");
  }
  void resolve_says(const std::string& name, std::string_view type, std::string_view text = {}) {
    world.update(api::kJob, key(name + "-resolve"), [&](Value& object) {
      object.set_path(
          {"status", "conditions"},
          Value::list({Value::object({{"type", type}, {"status", "True"}, {"message", text}})}));
    });
    settle();
  }
  static constexpr const char* kSpec =
      "{pipeline: mix-bench, cluster: cluster-4, hardware: {gpuType: h200, gpuCount: 4}, "
      "executionEngine: {mix: {}}}";
};

// Section 21, object by object.
TEST_F(EngineJob, WorkedExample) {
  submit("mix-0412", kSpec);
  EXPECT_EQ(phase("mix-0412"), "Resolving");
  EXPECT_EQ(message("mix-0412"), "Resolving job requirements");
  EXPECT_EQ(condition("mix-0412", "Resolved"),
            "False/Resolving Resolve Job created, waiting for completion");
  const Object resolve_job = world.must(api::kJob, key("mix-0412-resolve"));
  EXPECT_EQ(resolve_job.spec(), yaml_value(R"({
      activeDeadlineSeconds: 300, backoffLimit: 0, template: {
        metadata: {labels: {app.kubernetes.io/managed-by: fournos, fournos.dev/job-name: mix-0412}},
        spec: {serviceAccountName: fournos, restartPolicy: Never, containers: [{
          name: resolve, image: "mix-engine:7", imagePullPolicy: Always,
          command: [/opt/fournos/entrypoint], env: [
            {name: FJOB_NAME, value: mix-0412}, {name: FOURNOS_WORKLOAD_NAMESPACE, value: bench},
            {name: FOURNOS_STEP, value: resolve-fournos-config}, {name: FOURNOS_CI, value: "true"}]}]}}})"));

  world.update(api::kFournosJob, key("mix-0412"), [](Value& object) {
    object.set_path({"spec", "secretRefs"}, yaml_value("[hf-token]"));
  });
  resolve_says("mix-0412", "Complete");
  EXPECT_EQ(phase("mix-0412"), "Pending");
  EXPECT_EQ(condition("mix-0412", "Resolved"), "True/Resolved Resolution complete");
  EXPECT_EQ(workload("mix-0412")
                .spec()["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"],
            yaml_value(R"({fournos/cluster-slot: "100", fournos/gpu-h200: "4"})"));

  admit("mix-0412", "cluster-4");
  EXPECT_EQ(phase("mix-0412"), "Running");
  const Object copy = world.must(api::kSecret, key("mix-0412-hf-token"));
  EXPECT_EQ(copy.metadata()["labels"],
            yaml_value("{app.kubernetes.io/managed-by: fournos, fournos.dev/vault-entry: 'true'}"));
  EXPECT_EQ(copy.body()["data"], yaml_value("{token: czNjcjN0, user: Ym90}"));
  EXPECT_EQ(copy.metadata()["ownerReferences"][0]["controller"], Value(false));
  EXPECT_EQ(copy.metadata()["ownerReferences"][0]["blockOwnerDeletion"], Value(true));
  EXPECT_TRUE(world.has(api::kSecret, key("mix-0412-kubeconfig")));
  EXPECT_EQ(run("mix-0412").spec(), yaml_value(R"({
      pipelineRef: {name: mix-bench},
      timeouts: {pipeline: 25h0m0s, tasks: 24h0m0s, finally: 1h0m0s},
      params: [{name: fjob-name, value: mix-0412}, {name: fournos-workload-namespace, value: bench},
               {name: kubeconfig-secret, value: mix-0412-kubeconfig}],
      taskRunTemplate: {podTemplate: {volumes: [{name: vault-secrets, projected: {sources: [{secret: {
        name: mix-0412-hf-token, items: [{key: token, path: hf-token/token}, {key: user, path: hf-token/user}]}}]}}]}},
      workspaces: [{name: artifacts, volumeClaimTemplate: {
        metadata: {labels: {app.kubernetes.io/managed-by: fournos, fournos.dev/job-name: mix-0412}},
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}}}]})"));

  run_says("mix-0412", "True", "Tasks Completed: 2 (Failed: 0, Cancelled 0), Skipped: 0", true);
  EXPECT_EQ(phases("mix-0412"), "Resolving Pending Admitted Running Succeeded");
  settle_for(std::chrono::seconds(299));
  EXPECT_TRUE(world.has(api::kSecret, key("mix-0412-kubeconfig"))) << "pods may still mount it";
  EXPECT_TRUE(world.has(api::kSecret, key("mix-0412-hf-token")));
  world.restart();
  settle_for(std::chrono::seconds(1));
  EXPECT_FALSE(world.has(api::kSecret, key("mix-0412-kubeconfig"))) << "copies hold credentials";
  EXPECT_FALSE(world.has(api::kSecret, key("mix-0412-hf-token")));
  EXPECT_TRUE(world.has(api::kSecret, {"psap-secrets", "vault-hf-token"}));
}

// The release of `current` knows no fixed path: the image's own entry point runs.
TEST_F(EngineJob, CurrentReleaseRunsEntrypointOfTheImage) {
  configure({{"FOURNOS_API", "current"}});
  submit("a", kSpec);
  const Value container =
      world.must(api::kJob, key("a-resolve")).spec()["template"]["spec"]["containers"][0];
  EXPECT_EQ(container["image"], Value("mix-engine:7"));
  EXPECT_FALSE(container.contains("command"));
}

TEST_F(EngineJob, ResolutionFails) {
  submit("a", kSpec);
  resolve_says("a", "Failed", "Job has reached the specified backoff limit");
  EXPECT_EQ(message("a"), "Resolution failed: Job has reached the specified backoff limit");
  EXPECT_EQ(condition("a", "Resolved"), "False/Failed Job has reached the specified backoff limit");
  EXPECT_TRUE(world.has(api::kJob, key("a-resolve")));
  submit("b", kSpec);
  resolve_says("b", "Failed");
  EXPECT_EQ(message("b"), "Resolution failed: Resolve Job failed");
}

// As with upstream's role: the watch is refused, a read by name is not.
TEST_F(EngineJob, ReadsPipelineThatMayNotBeListed) {
  const Error denied{.code = 403, .reason = "Forbidden"};
  world.fail_observation(unreadable_query(api::kPipeline), denied);
  const auto truth = world.probes["live"];
  world.probes["live"] = [=](test::FakeWorld& seen, std::string_view text) -> Result<Value> {
    const auto query = LiveQuery::parse(text);
    if (!query || query->kind != "Pipeline") {
      return truth(seen, text);
    }
    if (query->key.name != "unlisted") {
      return denied;
    }
    return LiveQuery::answer(
        {Object(yaml_value("{apiVersion: tekton.dev/v1, kind: Pipeline, metadata: {name: unlisted, "
                           "namespace: bench, annotations: {fournos.dev/resolve-image: e}}}"))});
  };
  submit("job", "{pipeline: unlisted, cluster: cluster-4, executionEngine: {mix: {}}}");
  EXPECT_EQ(phase("job"), "Resolving") << message("job");
  EXPECT_TRUE(world.has(api::kJob, key("job-resolve")));
  submit("other", "{pipeline: unseen, cluster: cluster-4, executionEngine: {mix: {}}}");
  EXPECT_EQ(message("other"), "Failed to fetch Pipeline 'unseen': Forbidden");
}

// FakeWorld as its API server shows it to upstream's role: Jobs and Secrets may be got and created.
class UnlistedChildren : public EngineJob {
 protected:
  UnlistedChildren() {
    // What a cache that was never filled shows.
    for (const Kind* kind : {&api::kJob, &api::kSecret, &api::kPipeline}) {
      world.fail_observation(unreadable_query(*kind), kDenied);
    }
    const auto truth = world.probes["live"];
    world.probes["live"] = [this, truth](test::FakeWorld& seen,
                                         std::string_view text) -> Result<Value> {
      const auto query = LiveQuery::parse(text);
      const auto hidden = query ? server.find(query->kind + " " + query->key.text()) : server.end();
      return hidden == server.end() ? truth(seen, text) : LiveQuery::answer({hidden->second});
    };
    world.fault = [this](const Step& step) -> std::optional<Error> {
      const Ref* target = target_of(step);
      if (target != nullptr && (target->kind == &api::kJob || target->kind == &api::kSecret)) {
        sent.push_back(std::string(name_of(step)) + " " + target->key.text());
        if (std::holds_alternative<Delete>(step)) {
          return kDenied;
        }
      }
      return std::nullopt;
    };
  }
  // Takes an object out of what the view shows.
  void hide(const Kind& kind, const Key& at) {
    server.insert_or_assign(std::string(kind.name) + " " + at.text(), world.must(kind, at));
    world.remove(kind, at);
  }
  std::map<std::string, Object> server{};
  std::vector<std::string> sent{};
  const Error kDenied{.code = 403, .reason = "Forbidden"};
};

TEST_F(UnlistedChildren, ARunReadsItsChildrenByName) {
  world.update(api::kPipeline, key("mix-bench"), [](Value& object) {
    object.set_path({"spec", "params"}, yaml_value("[{name: fjob-name}, {name: gpu-count}]"));
  });
  hide(api::kPipeline, key("mix-bench"));
  hide(api::kSecret, {"psap-secrets", "kubeconfig-cluster-4"});
  submit("job", kSpec);
  ASSERT_EQ(sent, std::vector<std::string>{"create bench/job-resolve"}) << message("job");
  hide(api::kJob, key("job-resolve"));
  settle_for(std::chrono::minutes(1));
  EXPECT_EQ(phase("job"), "Resolving");
  EXPECT_EQ(sent.size(), 1U) << "the Job is there";

  Value done = server.at("Job bench/job-resolve").body();
  done.set_path({"status", "conditions"},
                yaml_value("[{type: Complete, status: 'True', message: ''}]"));
  server.insert_or_assign("Job bench/job-resolve", Object(done));
  settle_for(std::chrono::seconds(15));  // no event tells of it
  EXPECT_EQ(phase("job"), "Pending");

  // Copied before a crash that the run did not survive.
  put("{apiVersion: v1, kind: Secret, metadata: {name: job-kubeconfig, namespace: bench, "
      "ownerReferences: [{apiVersion: fournos.dev/v1, kind: FournosJob, name: job, uid: '" +
      world.must(api::kFournosJob, key("job")).metadata()["uid"].str() + "'}]}}");
  hide(api::kSecret, key("job-kubeconfig"));
  admit("job", "cluster-4");
  EXPECT_EQ(phase("job"), "Running") << message("job");
  EXPECT_EQ(sent.size(), 1U) << "the copy is there";
  EXPECT_EQ(run("job").spec()["params"].size(), 4U) << "with what the Pipeline declares";

  run_says("job", "True", "", true);
  settle_for(std::chrono::minutes(10));
  EXPECT_EQ(phase("job"), "Succeeded");
  EXPECT_EQ(sent.back(), "delete bench/job-kubeconfig") << "tried, and left to the job's deletion";
}

TEST_F(UnlistedChildren, EndStoppedResolutionDespiteUndeletableJob) {
  submit("job", kSpec);
  hide(api::kJob, key("job-resolve"));
  world.update(api::kFournosJob, key("job"), [](Value& object) {
    object.set_path({"spec", "shutdown"}, "Stop");
  });
  settle_for(std::chrono::minutes(1));
  EXPECT_EQ(phase("job"), "Stopped");
  EXPECT_EQ(sent.back(), "delete bench/job-resolve");
}

// Hearth's Secret has another name, and no list shows it.
TEST_F(UnlistedChildren, HearthsKubeconfigIsReadByName) {
  world.configure("hearth", yaml_value("{namespace: hearth}"));
  put("{apiVersion: fournos.dev/v1, kind: FournosCluster, metadata: {name: cluster-3, namespace: "
      "hearth}, spec: {kubeconfigSecret: given}}");
  put("{apiVersion: v1, kind: Secret, metadata: {name: given, namespace: psap-secrets}, "
      "data: {kubeconfig: bW9jaw==}}");
  hide(api::kSecret, {"psap-secrets", "given"});
  submit("job", "{pipeline: mix-bench, cluster: cluster-3, executionEngine: {mix: {}}}");
  resolve_says("job", "Complete");
  admit("job", "cluster-3");
  settle_for(std::chrono::seconds(10));
  EXPECT_EQ(phase("job"), "Running") << message("job");
  EXPECT_TRUE(world.has(api::kSecret, key("job-kubeconfig")));
}

TEST_F(EngineJob, PipelineWithoutImage) {
  put("{apiVersion: tekton.dev/v1, kind: Pipeline, metadata: {name: fournos-full, namespace: "
      "bench}}");
  submit("job", "{cluster: cluster-4, executionEngine: {mix: {}}}");
  EXPECT_EQ(message("job"),
            "Pipeline 'fournos-full' is missing the 'fournos.dev/resolve-image' annotation");
  EXPECT_EQ(condition("job", "Resolved"),
            "False/MissingResolveImage Pipeline 'fournos-full' is missing the "
            "'fournos.dev/resolve-image' annotation");
}

TEST_F(EngineJob, HardwareIsCheckedAfterResolution) {
  submit("job", "{pipeline: mix-bench, cluster: cluster-4, executionEngine: {mix: {}}}");
  world.update(api::kFournosJob, key("job"), [](Value& object) {
    object.set_path({"spec", "hardware"}, yaml_value("{gpuType: b200, gpuCount: 1}"));
  });
  resolve_says("job", "Complete");
  EXPECT_EQ(message("job"), "GPU type 'b200' not available. Valid types: a100, h200");
  EXPECT_EQ(condition("job", "Resolved"), "False/InvalidGPUType GPU type 'b200' not available");
}

TEST_F(EngineJob, SecretRefsAreChecked) {
  put("{apiVersion: v1, kind: Secret, metadata: {name: vault-plain, namespace: psap-secrets}}");
  submit("a",
         "{pipeline: mix-bench, cluster: cluster-4, secretRefs: [hf-token, none], executionEngine: "
         "{mix: {}}}");
  resolve_says("a", "Complete");
  EXPECT_EQ(message("a"), "Secret 'vault-none' (ref 'none') not found in namespace psap-secrets");
  EXPECT_FALSE(has_workload("a"));
  submit(
      "b",
      "{pipeline: mix-bench, cluster: cluster-4, secretRefs: [plain], executionEngine: {mix: {}}}");
  resolve_says("b", "Complete");
  EXPECT_EQ(message("b"),
            "Secret 'vault-plain' exists but is not a Vault-synced secret (missing "
            "fournos.dev/vault-entry=true label)");
}

TEST_F(EngineJob, MissingKubeconfigFailsTheStart) {
  submit("job", "{pipeline: mix-bench, cluster: cluster-1, executionEngine: {mix: {}}}");
  resolve_says("job", "Complete");
  admit("job", "cluster-1");
  EXPECT_EQ(message("job"), "Failed to copy kubeconfig: Not Found");
  EXPECT_EQ(condition("job", "PipelineRunReady"),
            "False/KubeconfigNotFound Failed to copy kubeconfig: Not Found");
  EXPECT_FALSE(has_workload("job"));
}

TEST_F(EngineJob, SecretOfAnotherIsNotUsed) {
  put("{apiVersion: v1, kind: Secret, metadata: {name: job-kubeconfig, namespace: bench, "
      "ownerReferences: "
      "[{apiVersion: fournos.dev/v1, kind: FournosJob, name: other, uid: u}]}}");
  submit("job", kSpec);
  resolve_says("job", "Complete");
  admit("job", "cluster-4");
  EXPECT_EQ(message("job"), "Secret name conflict: job-kubeconfig");
}

TEST_F(EngineJob, ClusterlessRunsWithoutKueue) {
  submit("job",
         "{pipeline: mix-bench, clusterless: true, exclusive: false, executionEngine: {mix: {}}}");
  resolve_says("job", "Complete");
  EXPECT_EQ(phase("job"), "Running");
  EXPECT_FALSE(has_workload("job"));
  EXPECT_EQ(status("job")["cluster"], Value("[clusterless]"));
  EXPECT_EQ(condition("job", "WorkloadAdmitted"),
            "True/ClusterlessAdmitted Clusterless job bypassed Kueue admission");
  EXPECT_EQ(run("job").spec()["params"][2]["value"], Value("fournos-clusterless-placeholder"));
  EXPECT_EQ(run("job").metadata()["annotations"]["fournos.dev/cluster"], Value(""));
  EXPECT_EQ(
      run("job").spec()["taskRunTemplate"]["podTemplate"]["volumes"][0]["projected"]["sources"],
      Value::list());
  run_says("job", "True", "", true);
  EXPECT_EQ(phases("job"), "Resolving Admitted Running Succeeded");
}

TEST_F(EngineJob, ShutdownWhileResolvingDropsTheResolveJob) {
  submit("job", kSpec);
  world.update(api::kFournosJob, key("job"), [](Value& object) {
    object.set_path({"spec", "shutdown"}, "Stop");
  });
  settle();
  EXPECT_EQ(phase("job"), "Stopped");
  EXPECT_FALSE(world.has(api::kJob, key("job-resolve")));
}

TEST_F(EngineJob, SeedPipelineGetsTheSeedParameters) {
  put(R"({apiVersion: tekton.dev/v1, kind: Pipeline, metadata: {name: forge-full, namespace: bench,
      annotations: {fournos.dev/resolve-image: i}}, spec: {params: [{name: forge-project}, {name: gpu-count}]}})");
  submit("job",
         "{pipeline: forge-full, cluster: cluster-4, executionEngine: {forge: {project: mix, args: "
         "[]}}}");
  resolve_says("job", "Complete");
  admit("job", "cluster-4");
  EXPECT_EQ(run("job").spec()["params"].size(), 5U);
  EXPECT_EQ(run("job").spec()["params"][3], yaml_value("{name: forge-project, value: mix}"));
}

}  // namespace
}  // namespace athanor::fournos::engine_test
