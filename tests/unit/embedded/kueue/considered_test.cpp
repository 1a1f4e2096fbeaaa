// SPDX-License-Identifier: Apache-2.0
// Which flavors the event of a reservation names (docs/spec/kueue.md 13).
#include "unit/embedded/kueue/queue_world.hpp"

namespace athanor::kueue::test::considered_test {
namespace {

class Considered : public QueueWorld {
 protected:
  // A queue of flavors f and g with so much quota of each.
  void two_flavors(const std::string& name, int of_f, int of_g, const std::string& more = "") {
    world.put(from_yaml(fmt::format(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: {}}}, spec: "
        "{{namespaceSelector: {{}}, resourceGroups: [{{coveredResources: [gpu], flavors: "
        "[{{name: f, resources: [{{name: gpu, nominalQuota: {}}}]}}, {{name: g, resources: "
        "[{{name: gpu, nominalQuota: {}}}]}}]}}]{}}}}}",
        name, of_f, of_g, more)));
    world.put(local_queue(name, name));
  }
  std::string considered_flavors_of(const std::string& name) {
    for (const auto& event : world.events) {
      if (event.reason == "QuotaReserved" && event.about.name == name) {
        const std::size_t at = event.note.find("; Flavors considered: ");
        return at == std::string::npos ? "" : event.note.substr(at + 22);
      }
    }
    return "no event";
  }
};

TEST_F(Considered, NothingWhereTheFirstFits) {
  two_flavors("q", 4, 4);
  run("a", "q", 1);
  EXPECT_EQ(considered_flavors_of("a"), "");
}

TEST_F(Considered, FlavorsThatDoNotFitWithTheirReasons) {
  two_flavors("q", 2, 8);
  run("a", "q", 4);
  EXPECT_EQ(considered_flavors_of("a"),
            "launcher: f(NoFit;insufficient quota for gpu in flavor f, previously considered "
            "podsets requests (0) + current podset request (4) > maximum capacity (2))");
}

TEST_F(Considered, FlavorsThatPreemptionWouldMakeFree) {
  two_flavors("q", 4, 4, ", preemption: {withinClusterQueue: LowerPriority}");
  run("low", "q", 4, 1);
  run("high", "q", 4, 9);
  EXPECT_EQ(flavor_of("high"), "g");
  EXPECT_EQ(considered_flavors_of("high"),
            "launcher: f(preemptionMode=Preempt;insufficient unused quota for gpu in flavor f, 4 "
            "more needed)");
}

TEST_F(Considered, HowHighItBorrows) {
  two_flavors("a", 2, 0, ", cohortName: c");
  two_flavors("b", 6, 0, ", cohortName: c");
  run("w", "a", 4);
  EXPECT_EQ(considered_flavors_of("w"), "launcher: f(Fit;borrow=1)");
}

}  // namespace
}  // namespace athanor::kueue::test::considered_test
