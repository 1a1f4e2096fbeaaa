// SPDX-License-Identifier: Apache-2.0
// The requests control loops make, as the user of their name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/loops/control_loop.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Waits for each answer. Errors carry the Status of the server. Not thread-safe.
class LoopRequests {
 public:
  // Takes `user`, the loop's name: it acts as system:serviceaccount:kube-system:<user>.
  LoopRequests(Server& server, std::string_view user);

  // Deletes an object; NotFound counts as done. `uid` guards against a namesake made since.
  Result<void> remove(const ResourceInfo& resource, const Key& key, std::string_view uid,
                      std::string_view policy, Instant now);
  // Writes. Errors: as the server answers, also NotFound and Conflict. `subresource` may be empty.
  Result<void> merge_patch(const ResourceInfo& resource, const Key& key,
                           std::string_view subresource, Value patch, Instant now);
  Result<void> put(const ResourceInfo& resource, const Key& key, std::string_view subresource,
                   Value object, Instant now);
  Result<void> create(const ResourceInfo& resource, const std::string& ns, Value object,
                      Instant now);

 private:
  Result<void> send(std::string method, std::string path, std::string content_type, Value body,
                    Instant now);

  // Counts what the server refused, and logs it once a minute.
  void note_refusal(const std::string& request_line, const Error& error, Instant now);

  Server& server_;
  std::string user_;
  std::string last_warning_{};
  Instant next_warning_{};
};

}  // namespace athanor::apiserver
