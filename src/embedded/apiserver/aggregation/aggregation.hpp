// SPDX-License-Identifier: Apache-2.0
// Aggregation: group versions that another API server serves, named by APIServices with a service.
// Their availability is looked at from tick(); their requests are passed on; their discovery is
// merged into ours. A group version that this server serves itself is never passed on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/request/http.hpp"
#include "embedded/apiserver/request/outside.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

struct Call;
struct Core;

// One APIService with a service, and what is known of its server.
struct RemoteApi {
  std::string name{};  // "v1beta1.metrics.k8s.io"
  std::string group{}, version{};
  std::int64_t group_priority = 0, version_priority = 0;
  Value spec{};
  std::string address{};  // of the last check
  Instant next_check{};
  bool checking = false;
  bool available = false;
  Value discovery{};  // its APIResourceList; Null: never seen
  // Its OpenAPI v3 document, and the hash of it; null: it has none.
  std::shared_ptr<const std::string> openapi{};
  std::string openapi_hash{};
};

// Thread-safe; tick() is called from one thread.
class Aggregation {
 public:
  explicit Aggregation(Core& core);
  Aggregation(const Aggregation&) = delete;
  Aggregation& operator=(const Aggregation&) = delete;
  ~Aggregation();

  // Finds new and changed APIServices, checks their servers (never waits), and writes the
  // condition Available.
  void tick(Instant now);

  // Answers a request to a group version of another server; nullopt: it is not one.
  std::optional<StatusResult<Response>> serve(Call& call);

  [[nodiscard]] bool empty() const;
  // Adds the groups of other servers to an APIGroupList.
  void add_groups(Value& list) const;
  // Returns the APIGroup of a group that only other servers serve.
  [[nodiscard]] std::optional<Value> group(std::string_view name) const;
  // Returns the APIs with an OpenAPI v3 document.
  [[nodiscard]] std::vector<RemoteApi> described() const;
  // Adds their groups to an APIGroupDiscoveryList; those that are down as stale.
  void add_discovery(Value& list) const;

 private:
  // What answers leave for the next tick; outlives the object with the answers.
  struct Inbox {
    Mutex mutex{};
    struct Answer {
      std::string name{};    // of the APIService
      bool openapi = false;  // else: of the check
      OutsideAnswer answer{};
    };
    std::vector<Answer> answers ATHANOR_GUARDED_BY(mutex){};
  };

  void read_services();
  void take_answers(Instant now);
  void check(RemoteApi& api, Instant now);
  void ask(const RemoteApi& api, const std::string& path, bool openapi);
  void take_answer(RemoteApi& api, const OutsideAnswer& answer, Instant now);
  void take_openapi(RemoteApi& api, const OutsideAnswer& answer);
  void report(RemoteApi& api, std::string_view reason, std::string message, Instant now);
  [[nodiscard]] OutsideRequest request_to(const RemoteApi& api) const;
  [[nodiscard]] std::vector<RemoteApi> remotes() const;
  [[nodiscard]] std::optional<RemoteApi> find(std::string_view name) const;

  Core& core_;
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  mutable Mutex mutex_{};  // guards remotes_
  std::map<std::string, RemoteApi, std::less<>> remotes_ ATHANOR_GUARDED_BY(mutex_){};
};

// Returns one version of an APIGroupDiscovery, out of an APIResourceList.
Value discovery_version(const RemoteApi& api);

}  // namespace athanor::apiserver
