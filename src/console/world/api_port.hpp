// SPDX-License-Identifier: Apache-2.0
// ApiPort: requests to the API server on behalf of one viewer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "client/api_client.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"

namespace athanor::console {

// The user of a request. No user: the console itself (CONSOLE_AUTH=none).
struct Viewer {
  std::string user{};
  std::vector<std::string> groups{};
};

// Returns "/apis/fournos.dev/v1/namespaces/NS/fournosjobs/NAME"; without a name the list's path.
std::string api_path(const Kind& kind, const std::string& ns, const std::string& name = {});

// Calls wait; not to be used on the client's thread. Thread-safe.
class ApiPort {
 public:
  ApiPort(std::shared_ptr<client::ApiClient> client, Duration timeout)
      : client_(std::move(client)), timeout_(timeout) {}

  // Sends the request, impersonating the viewer if there is one. Errors carry the API server's
  // Status.
  [[nodiscard]] Result<Value> call(const Viewer& viewer, client::ApiRequest request) const;
  // Reads a body that is no JSON, such as a log.
  [[nodiscard]] Result<std::string> text(const Viewer& viewer, const std::string& path) const;
  [[nodiscard]] Result<Object> get(const Viewer& viewer, const Kind& kind, const Key& key) const;
  [[nodiscard]] Result<std::vector<Object>> list(const Viewer& viewer, const Kind& kind,
                                                 const std::string& ns,
                                                 const std::string& query = {}) const;
  [[nodiscard]] Result<Object> create(const Viewer& viewer, const Kind& kind, const Value& object,
                                      const std::string& query = {}) const;
  // Sends a merge patch.
  [[nodiscard]] Result<Object> patch(const Viewer& viewer, const Kind& kind, const Key& key,
                                     const Value& merge) const;
  [[nodiscard]] Result<void> remove(const Viewer& viewer, const Kind& kind, const Key& key,
                                    const Value& options = {}) const;
  [[nodiscard]] client::ApiClient& client() const { return *client_; }

 private:
  [[nodiscard]] client::ApiRequest prepared(const Viewer& viewer, client::ApiRequest request) const;

  std::shared_ptr<client::ApiClient> client_;
  Duration timeout_;
};

}  // namespace athanor::console
