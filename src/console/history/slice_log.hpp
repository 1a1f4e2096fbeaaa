// SPDX-License-Identifier: Apache-2.0
// SliceLog: turns states of AllocationClaims into records of slices that came and went
// (docs/spec/dashboard.md B4.7, replay). Pure; one thread at a time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// A record: {at, type, claim, node, gpu, profile, start, size, ns, pod}; type: ADDED or DELETED,
// claim: a uid.
class SliceLog {
 public:
  // Takes a state of a claim; returns what changed.
  std::vector<Value> see(const Object& claim, Instant now);
  // Takes the end of a claim.
  std::vector<Value> gone(const Object& claim, Instant now);
  // Takes the uids of all claims that exist; returns the ends of others that were seen.
  std::vector<Value> listed(const std::set<std::string>& uids, Instant now);

  // Takes the records of the store, the oldest first.
  void load(const std::vector<Value>& records);
  // Returns the ends of stored claims that went while no console ran. Nothing before load() and
  // listed(), and nothing a second time.
  std::vector<Value> missed(Instant now);
  // Returns true if the store lacks the record.
  [[nodiscard]] bool is_news(const Value& record) const;
  // Notes that the store has the record.
  void stored(const Value& record);

 private:
  std::map<std::string, Value> held_{};    // by uid: as the cluster has it
  std::map<std::string, Value> stored_{};  // by uid: as the store has it
  bool loaded_ = false;
  bool listed_ = false;
  bool compared_ = false;
};

}  // namespace athanor::console
