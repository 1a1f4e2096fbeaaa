// SPDX-License-Identifier: Apache-2.0
// Counting pods by topology.
#include "embedded/scheduler/topology.hpp"

#include <algorithm>
#include <limits>

#include "api/builtin.hpp"
#include "kube/names/node_match.hpp"

namespace athanor::scheduler {
namespace {

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::int64_t kMostTopologyScore = 100;

const Value& terms_of(const Object& pod, const char* kind, const char* strength) {
  return pod.spec().at({"affinity", kind, strength});
}

std::string domain(const NodeState& node, std::string_view key) {
  return node.node.metadata()["labels"][key].str();
}

bool has_label(const NodeState& node, std::string_view key) {
  return node.node.metadata()["labels"].contains(key);
}

std::int64_t count_at(const std::map<std::string, std::int64_t, std::less<>>& counts,
                      const std::string& value) {
  const auto found = counts.find(value);
  return found == counts.end() ? 0 : found->second;
}

// Scaled to 0..100 over the nodes.
std::vector<std::int64_t> normalized(const std::vector<std::int64_t>& raw) {
  std::vector<std::int64_t> result(raw.size(), 0);
  if (raw.empty()) {
    return result;
  }
  const auto [least, most] = std::ranges::minmax(raw);
  for (std::size_t i = 0; i < raw.size() && most > least; ++i) {
    result[i] = (raw[i] - least) * kMostTopologyScore / (most - least);
  }
  return result;
}

}  // namespace

bool Topology::matters(const Object& pod) {
  const Value& affinity = pod.spec()["affinity"];
  return affinity.contains("podAffinity") || affinity.contains("podAntiAffinity") ||
         !pod.spec()["topologySpreadConstraints"].empty();
}

bool Topology::is_repelled(const Object& pod) {
  return !terms_of(pod, "podAntiAffinity", kRequired).empty();
}

Topology::Topology(const View& view, const Object& pod, const std::vector<NodeState>& nodes)
    : view_(view), pod_(pod), nodes_(nodes) {
  for (const Value& term : terms_of(pod, "podAffinity", kRequired).items()) {
    together_.push_back(count_term(term, 0));
  }
  for (const Value& term : terms_of(pod, "podAntiAffinity", kRequired).items()) {
    apart_.push_back(count_term(term, 0));
  }
  count_preferences("podAffinity", 1);
  count_preferences("podAntiAffinity", -1);
  count_avoiders();
  for (const Value& constraint : pod.spec()["topologySpreadConstraints"].items()) {
    count_spread(constraint);
  }
}

void Topology::count_preferences(const char* kind, std::int64_t sign) {
  for (const Value& weighted : terms_of(pod_, kind, kPreferred).items()) {
    preferred_.push_back(
        count_term(weighted["podAffinityTerm"], sign * weighted["weight"].as_int()));
  }
}

bool Topology::term_matches(const Value& term, std::string_view owner_ns, const Object& pod) const {
  const Value& names = term["namespaces"];
  const Value& namespaces = term["namespaceSelector"];
  bool in = names.empty() && namespaces.is_null() && pod.ns() == owner_ns;
  in = in || std::ranges::any_of(names.items(),
                                 [&](const Value& name) { return name.as_string() == pod.ns(); });
  if (!in && !namespaces.is_null()) {
    const auto selector = LabelSelector::from_value(namespaces);
    const auto object = view_.get(api::kNamespace, {"", std::string(pod.ns())});
    in = selector.ok() && object && selector->matches(object->metadata()["labels"]);
  }
  const auto selector = LabelSelector::from_value(term["labelSelector"]);
  return in && selector.ok() && selector->matches(pod.metadata()["labels"]);
}

Topology::Term Topology::count_term(const Value& term, std::int64_t weight) const {
  Term result{.key = term["topologyKey"].str(), .weight = weight};
  result.matches_itself = term_matches(term, pod_.ns(), pod_);
  for (const NodeState& node : nodes_) {
    if (!has_label(node, result.key)) {
      continue;
    }
    const auto many = std::ranges::count_if(
        node.residents, [&](const Object& pod) { return term_matches(term, pod_.ns(), pod); });
    if (many > 0) {
      result.counts[domain(node, result.key)] += many;
    }
  }
  return result;
}

void Topology::count_avoiders() {
  for (const NodeState& node : nodes_) {
    for (const Object& other : node.residents) {
      for (const Value& term : terms_of(other, "podAntiAffinity", kRequired).items()) {
        const std::string key = term["topologyKey"].str();
        if (has_label(node, key) && term_matches(term, other.ns(), pod_)) {
          ++avoided_[key][domain(node, key)];
        }
      }
    }
  }
}

void Topology::count_spread(const Value& constraint) {
  Spread spread{.key = constraint["topologyKey"].str(),
                .most = constraint["maxSkew"].as_int(1),
                .required = constraint["whenUnsatisfiable"].as_string() != "ScheduleAnyway"};
  auto selector = LabelSelector::from_value(constraint["labelSelector"]).value_or(LabelSelector());
  for (const Value& label : constraint["matchLabelKeys"].items()) {
    if (pod_.metadata()["labels"].contains(label.as_string())) {
      selector.add({.key = label.str(),
                    .op = LabelRequirement::Operator::In,
                    .values = {std::string(pod_.label(label.as_string()))}});
    }
  }
  spread.matches_itself = selector.matches(pod_.metadata()["labels"]);
  const bool by_affinity = constraint["nodeAffinityPolicy"].as_string() != "Ignore";
  for (const NodeState& node : nodes_) {
    if (!has_label(node, spread.key) || (by_affinity && !matches_node(pod_.spec(), node.node))) {
      continue;
    }
    spread.counts[domain(node, spread.key)] +=
        std::ranges::count_if(node.residents, [&](const Object& pod) {
          return pod.ns() == pod_.ns() && !pod.deleting() &&
                 selector.matches(pod.metadata()["labels"]);
        });
  }
  const std::int64_t domains = constraint["minDomains"].as_int(1);
  spread.least = std::numeric_limits<std::int64_t>::max();
  for (const auto& [value, many] : spread.counts) {
    spread.least = std::min(spread.least, many);
  }
  if (static_cast<std::int64_t>(spread.counts.size()) < domains) {
    spread.least = 0;
  }
  spreads_.push_back(std::move(spread));
}

bool Topology::affinity_holds(const NodeState& node) const {
  bool all_here = true;
  bool none_anywhere = true;
  for (const Term& term : together_) {
    if (!has_label(node, term.key)) {
      return false;
    }
    all_here = all_here && count_at(term.counts, domain(node, term.key)) > 0;
    none_anywhere = none_anywhere && term.counts.empty() && term.matches_itself;
  }
  return all_here || none_anywhere;  // the first of a group that wants to be together
}

Refusal Topology::check(const NodeState& node) const {
  for (const Spread& spread : spreads_) {
    if (!spread.required) {
      continue;
    }
    if (!has_label(node, spread.key)) {
      return {.reasons = {"node(s) didn't match pod topology spread constraints (missing required "
                          "label)"},
              .for_good = true};
    }
    const std::int64_t here =
        count_at(spread.counts, domain(node, spread.key)) + (spread.matches_itself ? 1 : 0);
    if (here - spread.least > spread.most) {
      return {.reasons = {"node(s) didn't match pod topology spread constraints"}};
    }
  }
  if (!affinity_holds(node)) {
    return {.reasons = {"node(s) didn't match pod affinity rules"}, .for_good = true};
  }
  for (const Term& term : apart_) {
    if (has_label(node, term.key) && count_at(term.counts, domain(node, term.key)) > 0) {
      return {.reasons = {"node(s) didn't match pod anti-affinity rules"}};
    }
  }
  for (const auto& [key, values] : avoided_) {
    if (has_label(node, key) && count_at(values, domain(node, key)) > 0) {
      return {.reasons = {"node(s) didn't satisfy existing pods anti-affinity rules"}};
    }
  }
  return {};
}

std::vector<std::int64_t> Topology::scores(const std::vector<const NodeState*>& nodes) const {
  constexpr std::int64_t kWeight = 2;  // of either plugin in kube-scheduler
  std::vector<std::int64_t> near(nodes.size(), 0);
  std::vector<std::int64_t> even(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Term& term : preferred_) {
      near[i] += term.weight * count_at(term.counts, domain(*nodes[i], term.key));
    }
    for (const Spread& spread : spreads_) {
      even[i] -= spread.required ? 0 : count_at(spread.counts, domain(*nodes[i], spread.key));
    }
  }
  near = normalized(near);
  even = normalized(even);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    near[i] = kWeight * (near[i] + even[i]);
  }
  return near;
}

}  // namespace athanor::scheduler
