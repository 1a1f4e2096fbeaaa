// SPDX-License-Identifier: Apache-2.0
// Topology: where pods are relative to one another: pod affinity, anti-affinity and spread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "embedded/scheduler/node_state.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor::scheduler {

// What one pod that waits asks of the pods around it, counted once for all nodes.
class Topology {
 public:
  // Takes `nodes` with the pods placed so far; both outlive this.
  Topology(const View& view, const Object& pod, const std::vector<NodeState>& nodes);

  // Returns true if a pod like this has anything to ask; if not, and if no placed pod keeps others
  // away, every node will do.
  [[nodiscard]] static bool matters(const Object& pod);
  // Returns true for a placed pod that keeps others away from where it is.
  [[nodiscard]] static bool is_repelled(const Object& pod);

  // Returns why the pod may not be on this node, in kube-scheduler's words; no reasons: it may.
  [[nodiscard]] Refusal check(const NodeState& node) const;
  // Scores each node by the pod's preferences; the more, the better.
  [[nodiscard]] std::vector<std::int64_t> scores(const std::vector<const NodeState*>& nodes) const;

 private:
  // One (anti-)affinity term: how many matching pods each value of its topology key has.
  struct Term {
    std::string key{};
    std::int64_t weight = 0;
    std::map<std::string, std::int64_t, std::less<>> counts{};
    bool matches_itself = false;
  };
  struct Spread {
    std::string key{};
    std::int64_t most = 1;
    bool required = true;
    bool matches_itself = false;
    std::map<std::string, std::int64_t, std::less<>> counts{};
    std::int64_t least = 0;
  };

  [[nodiscard]] bool term_matches(const Value& term, std::string_view owner_ns,
                                  const Object& pod) const;
  [[nodiscard]] Term count_term(const Value& term, std::int64_t weight) const;
  void count_preferences(const char* kind, std::int64_t sign);
  void count_avoiders();
  void count_spread(const Value& constraint);
  [[nodiscard]] bool affinity_holds(const NodeState& node) const;

  const View& view_;
  const Object& pod_;
  const std::vector<NodeState>& nodes_;
  std::vector<Term> together_{};
  std::vector<Term> apart_{};
  std::vector<Term> preferred_{};
  std::vector<Spread> spreads_{};
  // Topology key and value: placed pods there do not want this one.
  std::map<std::string, std::map<std::string, std::int64_t, std::less<>>, std::less<>> avoided_{};
};

}  // namespace athanor::scheduler
