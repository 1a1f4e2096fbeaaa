// SPDX-License-Identifier: Apache-2.0
// The node monitor (docs/spec/appwrapper.md 7.3). Both of its tables are the cache of nodes, which
// the controllers of AppWrappers and of the slack queue read; a run of its own for each change of a
// node is what the metrics of upstream's controller NodeMonitor count.
#include "api/builtin.hpp"
#include "systems/appwrapper/model/operators.hpp"

namespace athanor::appwrapper {
namespace {

Plan reconcile_monitor(const View& /*view*/, const Key& /*key*/, Instant /*now*/) {
  return Plan::done();
}

}  // namespace

const Operator& node_monitor_operator() {
  static constexpr const Kind* kReads[] = {&api::kNode};
  static const Operator kOperator{.name = "appwrapper-nodes",
                                  .primary = &api::kNode,
                                  .reads = kReads,
                                  .reconcile = reconcile_monitor};
  return kOperator;
}

}  // namespace athanor::appwrapper
