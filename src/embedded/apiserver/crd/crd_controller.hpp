// SPDX-License-Identifier: Apache-2.0
// Keeps what is served in step with the stored CustomResourceDefinitions: names, conditions,
// versions and the end of a definition with all its objects (docs/spec/apiserver.md 13.1).
// Thread-safe.
#pragma once

#include <map>
#include <string>

#include "base/mutex.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/request/call.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

// The core must outlive it.
class CrdController {
 public:
  explicit CrdController(Core& core) : core_(core) {}

  // Brings every definition that changed to its end state. What a definition serves is in the
  // registry before its Established condition can be read.
  void sync(Instant now);

 private:
  struct Served {
    store::Revision seen = 0;  // revision of the definition when it was looked at last
    std::int64_t generation = 0;
    bool serving = false;
    bool terminating = false;
    std::string storage{};
  };

  void sync_one(const store::Stored& stored, Instant now) ATHANOR_REQUIRES(mutex_);
  void serve(const Value& crd, Served& served, bool terminating);
  // Deletes the objects; true once none is left.
  bool delete_instances(const std::string& storage, Instant now);
  void finish(const store::Stored& stored, Served& served, Instant now) ATHANOR_REQUIRES(mutex_);
  void forget(const std::string& name, const Served& served);
  // Commits a new status; false when it was written in between (the next sync tries again).
  bool write(const store::Stored& stored, Value body, Instant now);

  Core& core_;
  bool registry_changed_ = true;  // since the APIServices were looked at
  Mutex mutex_{};
  std::map<std::string, Served, std::less<>> served_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace athanor::apiserver
