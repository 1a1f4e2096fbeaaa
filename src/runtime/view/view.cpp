// SPDX-License-Identifier: Apache-2.0
// Reading through a View: every read is recorded before it is answered.
#include "runtime/view/view.hpp"

#include "runtime/view/rank.hpp"

namespace athanor {
namespace {

void add_one(const Object& /*object*/, Totals& totals) {
  ++totals["count"];
}

// The objects of a list in the order of a ranking.
Ranks ranks_of(const std::vector<Object>& objects, const Ranking& ranking) {
  Ranks ranks(ranking);
  for (const Object& object : objects) {
    ranks.insert(object);
  }
  return ranks;
}

}  // namespace

Totals Snapshot::totals(const Kind& kind, const Select& select, Measure measure) const {
  Totals totals;
  for (const Object& object : list(kind, select)) {
    measure(object, totals);
  }
  totals.leave_out_zeros();
  return totals;
}

std::vector<Group> Snapshot::groups(const Kind& kind, const Select& select,
                                    const Ranking& ranking) const {
  return ranks_of(list(kind, select), ranking).groups();
}

std::vector<Object> Snapshot::ranked(const Kind& kind, const Select& select, const Ranking& ranking,
                                     std::string_view group, const Object* after,
                                     std::size_t limit) const {
  std::vector<Object> found;
  for (const Key& key : ranks_of(list(kind, select), ranking).keys(group, after, limit)) {
    found.push_back(*get(kind, key));
  }
  return found;
}

std::shared_ptr<const void> Snapshot::derived(const Derivation& derivation) const {
  Reads reads;  // noted as the lists they are
  return derivation.make(View(*this, reads));
}

// A reader walks through one list in parts: noted once.
void View::note(const Kind& kind, const Select& select) const {
  if (reads_.lists.empty() || reads_.lists.back().kind != &kind ||
      reads_.lists.back().select != select) {
    reads_.lists.push_back({&kind, select});
  }
}

std::optional<Object> View::get(const Kind& kind, const Key& key) const {
  reads_.objects.push_back({&kind, key});
  return snapshot_.get(kind, key);
}

std::vector<Object> View::list(const Kind& kind, const Select& select) const {
  note(kind, select);
  return snapshot_.list(kind, select);
}

Totals View::totals(const Kind& kind, const Select& select, Measure measure) const {
  note(kind, select);
  return snapshot_.totals(kind, select, measure);
}

std::int64_t View::count(const Kind& kind, const Select& select) const {
  const Totals counted = totals(kind, select, add_one);
  return counted.empty() ? 0 : counted.begin()->second;
}

std::vector<Group> View::groups(const Kind& kind, const Select& select,
                                const Ranking& ranking) const {
  note(kind, select);
  return snapshot_.groups(kind, select, ranking);
}

std::vector<Object> View::ranked(const Kind& kind, const Select& select, const Ranking& ranking,
                                 std::string_view group, const Object* after,
                                 std::size_t limit) const {
  note(kind, select);
  return snapshot_.ranked(kind, select, ranking, group, after, limit);
}

std::shared_ptr<const void> View::derive(const Derivation& derivation) const {
  for (const Kind* kind : derivation.kinds) {
    note(*kind, {});
  }
  return snapshot_.derived(derivation);
}

Observed View::observe(std::string_view query, Duration max_age) const {
  reads_.observations.emplace_back(std::string(query), max_age);
  return snapshot_.observe(query, max_age);
}

}  // namespace athanor
