// SPDX-License-Identifier: Apache-2.0
// `athanor slices` tells the places that the scheduler would take (docs/spec/das.md 6.1, 6.6).
#include "systems/das/verb/verb.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/usage.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"

namespace athanor::das::verb_test {
namespace {

class Context final : public VerbContext {
 public:
  Context(std::string action, std::string subject)
      : arguments_{{"ACTION", std::move(action)}, {"SUBJECT", std::move(subject)}} {}

  [[nodiscard]] std::optional<std::string> flag(std::string_view name) const override {
    const auto given = flags.find(name);
    return given == flags.end() ? std::nullopt : std::optional(given->second);
  }
  [[nodiscard]] std::optional<std::string> argument(std::string_view name) const override {
    return arguments_.find(name)->second;
  }
  [[nodiscard]] std::vector<std::string> names() const override { return listed; }
  [[nodiscard]] const std::string& ns() const override { return ns_; }
  [[nodiscard]] std::string_view output() const override { return format; }
  [[nodiscard]] Instant now() const override { return {}; }
  Result<Object> get(const Kind& kind, const Key& key) override {
    for (const Object& object : objects_) {
      if (object.kind() == kind.name && object.key() == key) {
        return object;
      }
    }
    return Error::not_found(key.text());
  }
  Result<std::vector<Object>> list(const Kind& kind, const std::string& /*ns*/) override {
    std::vector<Object> found;
    for (const Object& object : objects_) {
      if (object.kind() == kind.name) {
        found.push_back(object);
      }
    }
    return found;
  }
  Result<Object> create(const Kind& /*kind*/, const Value& object) override {
    calls += "create " + object["metadata"]["name"].str() + "; ";
    return objects_.emplace_back(object);
  }
  Result<Object> patch(const Kind& /*kind*/, const Key& /*key*/, const Value& /*merge*/,
                       std::string_view /*subresource*/) override {
    return Error::internal("a verb that only looks");
  }
  Result<void> remove(const Kind& kind, const Key& key) override {
    calls += "remove " + key.name + "; ";
    std::erase_if(objects_, [&](const Object& object) {
      return object.kind() == kind.name && object.key() == key;
    });
    return {};
  }
  Result<Value> post(const Kind& /*kind*/, const Key& key, std::string_view subresource,
                     const Value& /*body*/) override {
    calls += std::string(subresource) + " of " + key.name + "; ";
    return evicted ? evicted() : Value();
  }
  void wait(Duration /*time*/) override {
    if (on_wait) {
      on_wait();
    }
  }
  void print(std::string_view text) override { text_ += text; }
  void table(const std::vector<std::string>& /*header*/,
             const std::vector<std::vector<std::string>>& /*rows*/) override {}
  void values(const std::vector<Value>& items) override { printed = items; }

  void put_object(Object object) { objects_.push_back(std::move(object)); }
  void put(const std::string& text) { objects_.emplace_back(yaml::parse(text).value()); }
  void put_node(const std::string& name, int gpus) {
    Value body = yaml::parse(
                     "{apiVersion: inference.redhat.com/v1alpha1, kind: NodeAccelerator, "
                     "metadata: {name: " +
                     name + ", namespace: das-operator}}")
                     .value();
    body.set_path({"status", "nodeResources"},
                  emulated_resources(name, {find_model(kDefaultModel), gpus}));
    objects_.emplace_back(std::move(body));
  }
  // Puts a node whose first GPU has another program's instance at slots 0 to 3. The node numbers
  // its GPUs from `first` on.
  void put_foreign_node(const std::string& name, int gpus, int first) {
    put_node(name, gpus);
    Value body = objects_.back().body();
    Value list = body.at({"status", "nodeResources", "nodeGpus"});
    list.item(0).set("foreign", Value::list({Value::object({{"start", 0}, {"size", 4}})}));
    for (int i = 0; i < gpus; ++i) {
      list.item(static_cast<std::size_t>(i)).set("index", first + i);
    }
    body.set_path({"status", "nodeResources", "nodeGpus"}, std::move(list));
    objects_.back() = Object(std::move(body));
  }
  // Marks the last GPU of the node that was put before the last claim.
  void break_last_gpu() {
    Value body = objects_[objects_.size() - 2].body();
    Value gpus = body.at({"status", "nodeResources", "nodeGpus"});
    gpus.item(gpus.size() - 1).set("health", "Unhealthy");
    body.set_path({"status", "nodeResources", "nodeGpus"}, std::move(gpus));
    objects_[objects_.size() - 2] = Object(std::move(body));
  }
  void put_claim(const std::string& node, int gpu, int start) {
    put("{apiVersion: inference.redhat.com/v1alpha1, kind: AllocationClaim, metadata: {name: " +
        node + std::to_string(gpu) + std::to_string(start) +
        ", namespace: das-operator}, spec: {profile: 1g.5gb, nodename: " + node + ", gpuUUID: " +
        emulated_uuid(node, gpu) + ", migPlacement: {start: " + std::to_string(start) +
        ", size: 1}, podRef: {name: x, namespace: ns, uid: x}}}");
  }
  void configure(const std::string& arguments) {
    put("{apiVersion: v1, kind: ConfigMap, metadata: {name: das-scheduler-config, namespace: "
        "das-operator}, data: {config.yaml: '{profiles: [{pluginConfig: [{name: MigAccelerator, "
        "args: {" +
        arguments + "}}]}]}'}}");
  }
  // "node gpu start" of every slice that was printed.
  [[nodiscard]] std::string places() const {
    std::string text;
    const auto add = [&](const Value& spot) {
      text += spot["node"].str() + " " + std::to_string(spot["gpu"].as_int()) + " " +
              std::to_string(spot["start"].as_int()) + ", ";
    };
    for (const Value& item : printed) {
      for (const Value& slice : item["slices"].items()) {
        add(slice);
      }
      if (!item.contains("slices")) {
        add(item);
      }
    }
    return text;
  }
  Result<int> run() { return slices_verb().run(*this); }

  [[nodiscard]] const std::string& text() const { return text_; }

  std::vector<Value> printed{};
  std::vector<std::string> listed{};
  std::map<std::string, std::string, std::less<>> flags{};
  std::string format = "json";
  std::string calls{};  // writes, in order
  std::function<Result<Value>()> evicted{};
  std::function<void()> on_wait{};

 private:
  std::string text_{};
  std::map<std::string, std::string, std::less<>> arguments_;
  std::string ns_ = "ns";
  std::vector<Object> objects_{};
};

constexpr const char* kPod =
    "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, uid: p}, spec: {containers: "
    "[{name: c, resources: {limits: {mig.das.com/1g.5gb: 1}}}]}}";

TEST(SlicesVerb, ExplainsByTheSchedulersPolicy) {
  const auto explained = [](const std::string& arguments) {
    Context context("explain", "p");
    context.put(kPod);
    context.put_node("n1", 2);
    context.put_claim("n1", 0, 2);
    if (!arguments.empty()) {
      context.configure(arguments);
    }
    const auto done = context.run();
    EXPECT_TRUE(done.ok()) << done.error().message;
    return context.places();
  };
  EXPECT_EQ(explained(""), "n1 0 0, ");
  EXPECT_EQ(explained("gpuOrder: emptiest"), "n1 1 0, ");
  EXPECT_EQ(explained("placementPolicy: fragmin"), "n1 0 3, ") << "beside the slice at slot 2";
  EXPECT_EQ(explained("placementPolicy: fragmin, profileWeights: {1g.5gb: 0, 1g.10gb: 0, 2g.10gb: "
                      "0, 3g.20gb: 0, 4g.20gb: 0.5, 7g.40gb: 0}"),
            "n1 0 0, ")
      << "only 4g.20gb counts, for which the first GPU has no room any more";
}

TEST(SlicesVerb, ListsGpusOfNamedNodesWithTheirHolders) {
  const auto listed = [](const std::vector<std::string>& names) {
    Context context(names.empty() ? "" : names.front(), "");
    context.listed = names;
    for (const char* node : {"n1", "n2", "n3"}) {
      context.put_node(node, 1);
      context.put_claim(node, 0, 2);
    }
    const auto done = context.run();
    if (!done.ok()) {
      EXPECT_EQ(done.error().reason, "NotFound");
      return done.error().message;
    }
    std::string text;
    for (const Value& item : context.printed) {
      text += item["node"].str() + std::to_string(item["index"].as_int()) + ":" +
              item["holders"][0]["claim"].str() + " ";
    }
    return text;
  };
  EXPECT_EQ(listed({"n3", "n1"}), "n10:n102 n30:n302 ");
  EXPECT_EQ(listed({}), "n10:n102 n20:n202 n30:n302 ");
  EXPECT_NE(listed({"n1", "frob"}).find("unknown action or node \"frob\""), std::string::npos);
}

TEST(SlicesVerb, ListsGpusInThePhase) {
  const auto listed = [](const std::string& phase) {
    Context context("", "");
    if (!phase.empty()) {
      context.flags["phase"] = phase;
    }
    context.put_node("n1", 2);
    context.put_claim("n1", 0, 2);
    context.put_node("n2", 1);
    context.put_claim("n2", 0, 2);
    context.break_last_gpu();
    const auto done = context.run();
    if (!done.ok()) {
      return done.error().message;
    }
    std::string text;
    for (const Value& item : context.printed) {
      text += item["node"].str() + std::to_string(item["index"].as_int()) + ":" +
              item["holders"][0]["claim"].str() + " ";
    }
    return text;
  };
  EXPECT_EQ(listed("Broken"), "--phase Broken: unknown; known are Healthy, Unhealthy");
  EXPECT_EQ(listed("healthy,Unhealthy"), "n10:n102 n11: n20:n202 ");
  EXPECT_EQ(listed(""), "n10:n102 n11: n20:n202 ");
  EXPECT_EQ(listed("Healthy"), "n10:n102 n11: ");
  EXPECT_EQ(listed("Unhealthy"), "n20:n202 ");
}

TEST(SlicesVerb, PlacesByTheExtendersVariables) {
  const auto placed = [](const std::string& variables) {
    Context context("what-if", "2g.10gb:3");
    context.put_node("n1", 1);
    context.put_node("n2", 1);
    context.put(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: das-extender, namespace: "
        "das-operator}, spec: {template: {spec: {containers: [{name: e, args: [extender], env: [" +
        variables + "]}]}}}}");
    EXPECT_TRUE(context.run().ok());
    return context.places();
  };
  EXPECT_EQ(placed(""), "n1 0 0, n2 0 0, n1 0 2, ");
  EXPECT_EQ(placed("{name: DAS_NODE_SCORING_POLICY, value: pack}"), "n1 0 0, n1 0 2, n1 0 4, ");
  EXPECT_EQ(placed("{name: DAS_PLACEMENT_POLICY, value: fragmin}"), "n1 0 4, n2 0 4, n1 0 0, ");
}

TEST(SlicesVerb, PlacesNothingOverForeignInstances) {
  const auto placed = [](const std::string& wanted, int gpus) {
    Context context("what-if", wanted);
    context.put_foreign_node("n1", gpus, 5);
    const auto done = context.run();
    EXPECT_TRUE(done.ok()) << done.error().message;
    return context.places();
  };
  EXPECT_EQ(placed("7g.40gb:1", 1), "");
  EXPECT_EQ(placed("7g.40gb:2", 2), "n1 6 0, ") << "numbered as on the node";
  EXPECT_EQ(placed("3g.20gb:2", 1), "n1 5 4, ");
  Context context("what-if", "7g.40gb:1");
  context.format = "";
  context.put_foreign_node("n1", 1, 5);
  const auto code = context.run();
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(*code, 3) << "nothing fits";
  EXPECT_EQ(context.text(), "0 of 1 fit\n");
}

TEST(SlicesVerb, ExplainsSharesOfGpus) {
  Context context("explain", "p");
  context.put(
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, uid: pu}, spec: {containers: "
      "[{name: c, resources: {limits: {ts.das.com/gpu: 1}}}]}}");
  Value body = yaml::parse(
                   "{apiVersion: inference.redhat.com/v1alpha1, kind: NodeAccelerator, metadata: "
                   "{name: n1, namespace: das-operator}}")
                   .value();
  Value resources = emulated_resources("n1", {find_model(kDefaultModel), 1});
  const std::set<std::string, std::less<>> used;
  const Value nothing;
  EXPECT_TRUE(assign_sharing(resources, {.annotation = "0=timeslice:2",
                                         .vendor = find_vendor(""),
                                         .before = &nothing,
                                         .used = &used,
                                         .allows = {Divisible::Any}})
                  .empty());
  body.set_path({"status", "nodeResources"}, std::move(resources));
  context.put_object(Object(std::move(body)));
  const auto held = [&](const std::string& pod, int index) {
    context.put(
        "{apiVersion: inference.redhat.com/v1alpha1, kind: AllocationClaim, metadata: {name: c-" +
        pod +
        ", namespace: das-operator}, spec: {type: timeslice, resource: ts.das.com/gpu, share: "
        "{index: " +
        std::to_string(index) + "}, gpuUUID: " + emulated_uuid("n1", 0) +
        ", nodename: n1, container: c, podRef: {name: " + pod + ", namespace: ns, uid: " + pod +
        "u}}, status: {state: inUse}}");
  };
  context.format = "table";
  held("other", 0);
  EXPECT_EQ(context.run().value(), 0);
  EXPECT_EQ(context.text(),
            "pod ns/p asks for ts.das.com/gpu\n  n1: share 1 of ts.das.com/gpu on GPU 0\n");
  held("third", 1);
  context.format = "json";
  EXPECT_EQ(context.run().value(), 3) << "both shares are held";
  EXPECT_FALSE(context.printed.at(0)["fits"].as_bool());
  held("p", 0);
  EXPECT_EQ(context.run().value(), 0) << "it holds a share";
}

// A movable pod alone on the second GPU; the first has room for it.
class DefragTest : public testing::Test {
 protected:
  DefragTest() {
    context.format = "table";
    context.put_node("n1", 2);
    add_claim("stay", 0, 0);
    add_claim("go", 1, 0);
    add_pod("go", "set");
  }
  void add_claim(const std::string& pod, int gpu, int start) {
    context.put(
        "{apiVersion: inference.redhat.com/v1alpha1, kind: AllocationClaim, metadata: "
        "{name: c-" +
        pod +
        ", namespace: das-operator}, spec: {profile: 1g.5gb, nodename: "
        "n1, gpuUUID: " +
        emulated_uuid("n1", gpu) + ", migPlacement: {start: " + std::to_string(start) +
        ", size: 1}, podRef: {name: " + pod + ", namespace: ns, uid: " + pod + "}}}");
  }
  void add_pod(const std::string& name, const std::string& controller) {
    context.put(
        "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: ns, uid: " + name +
        ", labels: {app: web}, annotations: {das.inference.redhat.com/movable: "
        "'true'}, ownerReferences: [" +
        (controller.empty() ? ""
                            : "{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: " +
                                  controller + ", controller: true}") +
        "]}, spec: {containers: [{name: c, resources: {limits: {mig.das.com/1g.5gb: 1}}}]}}");
  }
  std::string error() {
    const auto done = context.run();
    return done.ok() ? "" : done.error().message;
  }

  Context context{"defrag", ""};
};

TEST_F(DefragTest, EvictsOnlyWhenAsked) {
  EXPECT_EQ(error(), "1 pods would be evicted: say --yes, or --dry-run to see the moves alone");
  context.flags["dry-run"] = "";
  EXPECT_EQ(context.run().value(), 0);
  EXPECT_EQ(context.calls, "");
}

TEST_F(DefragTest, MovesPodAndWaitsForNextOne) {
  context.flags["yes"] = "";
  int looks = 0;
  context.on_wait = [&] {
    if (++looks == 3) {
      static_cast<void>(context.remove(kAllocationClaim, {"das-operator", "reserved-go-0"}));
      add_claim("next", 0, 1);
    }
  };
  EXPECT_EQ(error(), "");
  EXPECT_EQ(looks, 3);
  EXPECT_EQ(context.calls, "create reserved-go-0; eviction of go; remove reserved-go-0; ");
  EXPECT_EQ(context.text(), "pod ns/go is evicted\npod ns/next has n1/gpu-0/slot-1\n");
}

TEST_F(DefragTest, NamesTheBudgetThatForbidsAMove) {
  context.flags["yes"] = "";
  context.put(
      "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: other, "
      "namespace: ns}, spec: {selector: {matchLabels: {app: db}}}}");
  context.put(
      "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: "
      "ns}, spec: {selector: {matchLabels: {app: web}}}, status: {currentHealthy: 1, "
      "desiredHealthy: 1}}");
  context.evicted = [] {
    return Result<Value>(
        Error{.code = 429, .reason = "TooManyRequests", .message = "Cannot evict."});
  };
  EXPECT_EQ(error(),
            "pod ns/go stays: Cannot evict. PodDisruptionBudget web (1 of 1 needed pods "
            "are healthy)");
  EXPECT_EQ(context.calls, "create reserved-go-0; eviction of go; remove reserved-go-0; ");
}

TEST_F(DefragTest, ReportsPodThatDoesNotReturn) {
  context.flags["yes"] = "";
  EXPECT_EQ(error(), "no pod of its controller took the slots for pod ns/go within 5 minutes");
}

TEST_F(DefragTest, APodWithoutAControllerStays) {
  add_pod("bare", "");
  context.flags["dry-run"] = "";
  EXPECT_EQ(context.run().value(), 0);
  EXPECT_EQ(context.text(), "pod ns/bare stays: no controller would create it again\n");
}

TEST_F(DefragTest, TakesAPositiveLimit) {
  for (const char* wrong : {"0", "x", "1001", ""}) {
    context.flags["max-moves"] = wrong;
    EXPECT_EQ(error(),
              "--max-moves \"" + std::string(wrong) + "\" must be a number from 1 to 1000");
  }
}

TEST(SlicesVerb, NamesASettingThatNoSchedulerTakes) {
  Context context("what-if", "1g.5gb");
  context.configure("placementPolicy: best");
  const auto done = context.run();
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("invalid DAS_PLACEMENT_POLICY \"best\""), std::string::npos)
      << done.error().message;
}

}  // namespace
}  // namespace athanor::das::verb_test
