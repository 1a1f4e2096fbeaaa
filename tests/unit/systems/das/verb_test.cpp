// SPDX-License-Identifier: Apache-2.0
// `athanor slices` tells the places that the scheduler would take (docs/spec/das.md 6.1, 6.6).
#include "systems/das/verb.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/placement/inventory.hpp"
#include "systems/das/vendor/vendor.hpp"

namespace athanor::das {
namespace {

class Context final : public VerbContext {
 public:
  Context(std::string action, std::string subject)
      : arguments_{{"ACTION", std::move(action)}, {"SUBJECT", std::move(subject)}} {}

  [[nodiscard]] std::optional<std::string> flag(std::string_view /*name*/) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> argument(std::string_view name) const override {
    return arguments_.find(name)->second;
  }
  [[nodiscard]] const std::string& ns() const override { return ns_; }
  [[nodiscard]] std::string_view output() const override { return "json"; }
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
  Result<Object> create(const Kind& /*kind*/, const Value& /*object*/) override {
    return Error::internal("a verb that only looks");
  }
  Result<Object> patch(const Kind& /*kind*/, const Key& /*key*/, const Value& /*merge*/,
                       std::string_view /*subresource*/) override {
    return Error::internal("a verb that only looks");
  }
  Result<void> remove(const Kind& /*kind*/, const Key& /*key*/) override {
    return Error::internal("a verb that only looks");
  }
  void print(std::string_view /*text*/) override {}
  void table(const std::vector<std::string>& /*header*/,
             const std::vector<std::vector<std::string>>& /*rows*/) override {}
  void values(const std::vector<Value>& items) override { printed = items; }

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

  std::vector<Value> printed{};

 private:
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

TEST(SlicesVerb, NamesASettingThatNoSchedulerTakes) {
  Context context("what-if", "1g.5gb");
  context.configure("placementPolicy: best");
  const auto done = context.run();
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("invalid DAS_PLACEMENT_POLICY \"best\""), std::string::npos)
      << done.error().message;
}

}  // namespace
}  // namespace athanor::das
