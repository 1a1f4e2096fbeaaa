// SPDX-License-Identifier: Apache-2.0
// Bodies of a scheduler's requests: what is a question gets an answer, the same one twice, from a
// cluster of one node with slices and zones.
#include "api/builtin.hpp"
#include "extender/decisions.hpp"
#include "fuzz/fuzz.hpp"
#include "kube/text/json.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/scheduling/slice_hooks.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/scheduling/session.hpp"

namespace {

using namespace athanor;

class OneNode final : public Snapshot {
 public:
  OneNode() {
    accelerator_ = Object(Value::object(
        {{"metadata", Value::object({{"name", "n"}, {"namespace", "das-operator"}})},
         {"status",
          Value::object({{"nodeResources", das::emulated_resources(
                                               "n", {.model = das::find_model(das::kDefaultModel),
                                                     .count = 2})}})}}));
    zones_ = Object(json::parse(R"({"metadata":{"name":"n"},"attributes":[{"name":
        "topologyManagerPolicy","value":"single-numa-node"}],"zones":[{"name":"node-0","type":"Node",
        "resources":[{"name":"cpu","capacity":"8","allocatable":"8","available":"8"}]}]})")
                        .value());
    node_ = Object(json::parse(R"({"metadata":{"name":"n","labels":{"nvidia.com/mig.capable":
        "true"}},"status":{"allocatable":{"cpu":"8","memory":"8Gi"}}})")
                       .value());
    numa_ = Value::object({{"extenderProfile", "zones"}});
  }
  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override {
    const bool ours = key.name == "n";
    return !ours                             ? std::nullopt
           : &kind == &api::kNode            ? std::optional(node_)
           : &kind == &das::kNodeAccelerator ? std::optional(accelerator_)
           : &kind == &numa::kTopologyKind   ? std::optional(zones_)
                                             : std::nullopt;
  }
  [[nodiscard]] std::vector<Object> list(const Kind& kind,
                                         const Select& /*select*/) const override {
    return &kind == &das::kNodeAccelerator ? std::vector{accelerator_} : std::vector<Object>();
  }
  [[nodiscard]] Observed observe(std::string_view /*query*/, Duration /*age*/) const override {
    return {};
  }
  [[nodiscard]] const Value& config(std::string_view section) const override {
    return section == "numa" ? numa_ : null_;
  }

 private:
  Object accelerator_{};
  Object zones_{};
  Object node_{};
  Value numa_{};
  Value null_{};
};

std::string answers(const Value& body) {
  static const OneNode kCluster;
  Reads reads;
  const View view(kCluster, reads);
  const SchedulingHooks* const hooks[] = {&das::mig_scheduling(), &numa::numa_scheduling()};
  const extender::KeptRooms rooms;
  extender::Decisions decisions(view, Instant{}, hooks, rooms);
  std::string text;
  if (const auto question = extender::read_nodes_question(body); question.ok()) {
    text += json::print(extender::to_value(decisions.filter(*question), *question));
    text += json::print(extender::to_value(decisions.prioritize(*question)));
    const auto node = view.get(api::kNode, {"", "n"});
    const auto plan = decisions.reserve(question->pod, *node);
    text += plan.ok() ? json::print(plan->to_value()) : plan.error().message;
  }
  if (const auto question = extender::read_preempt_question(body); question.ok()) {
    text += json::print(extender::preempt_answer(decisions.preempt(*question)));
  }
  if (const auto question = extender::read_bind_question(body); question.ok()) {
    ATHANOR_CHECK(!question->node.empty(), "a binding names its node");
    text += question->name;
  }
  return text;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto body = json::parse(fuzz::text_of(data, size));
  if (body.ok()) {
    ATHANOR_CHECK(answers(*body) == answers(*body), "the same question has one answer");
  }
  return 0;
}
