// SPDX-License-Identifier: Apache-2.0
// WriteRequest: one API request that a step became, still free of any transport.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::runtime {

enum class WriteVerb : std::uint8_t { Create, Replace, MergePatch, Apply, Delete };

// One write of a plan, before it is an HTTP request.
struct WriteRequest {
  WriteVerb verb = WriteVerb::Create;
  Ref target{};
  std::string subresource{};
  Value body{};
  std::string manager{};
  bool force = false;
  std::string user{};  // on whose behalf, where the world lets the engine choose
};

// The HTTP request that carries a WriteRequest out.
struct HttpForm {
  std::string method{};
  std::string path{};
  std::string content_type{};
  std::vector<std::pair<std::string, std::string>> query{};
};
// Returns method, path, query and content type of a write.
HttpForm http_form(const WriteRequest& write);
// Returns "/apis/batch/v1/namespaces/a/jobs"; ns empty: cluster-wide.
std::string collection_path(const Kind& kind, std::string_view ns);

// Makes the request of a step, like all below. Guards travel as metadata.uid and
// metadata.resourceVersion, or as preconditions.
WriteRequest request_for(const Apply& step);
WriteRequest request_for(const Create& step);
WriteRequest request_for(const Patch& step);
WriteRequest request_for(const Replace& step);
WriteRequest request_for(const Delete& step);
// Requires as `patch` the merge patch of the status itself.
WriteRequest status_request(const Status& step, const Value& patch, const Guard& guard);
// Makes the server-side apply of a step with Status::applied_as.
WriteRequest applied_status_request(const Status& step, const Guard& guard);

}  // namespace athanor::runtime
