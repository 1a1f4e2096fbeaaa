// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/heartbeat.hpp"

#include <fmt/core.h>

#include "base/log.hpp"
#include "embedded/nodes/emulated_node.hpp"
#include "embedded/nodes/nodes.hpp"
#include "kube/value/object.hpp"

namespace athanor::lab {
namespace {

constexpr Duration kPeriod = std::chrono::seconds(10);
constexpr std::int64_t kLeaseSeconds = 40;
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
constexpr int kNotFound = 404;
constexpr int kFailed = 400;

net::Request request_of(const char* method, std::string path) {
  net::Request request;
  request.method = method;
  request.path = std::move(path);
  request.credentials.internal_user = "system:apiserver";
  return request;
}

}  // namespace

void Heartbeat::beat(Instant now) {
  if (last_ && now >= *last_ && now < *last_ + kPeriod) {
    return;
  }
  last_ = now;
  net::Request request = request_of("GET", "/api/v1/nodes");
  request.query.emplace_back("labelSelector", fmt::format("{}=true", nodes::kEmulatedLabel));
  const net::Response response = server_.handle(std::move(request), now);
  const Value list = response.value.value_or(Value());
  for (const Value& node : list["items"].items()) {
    if (!nodes::has_failed(Object(node))) {
      renew(node, now);
    }
  }
}

void Heartbeat::renew(const Value& node, Instant now) {
  const std::string name = node["metadata"]["name"].str();
  const Value spec = Value::object({{"holderIdentity", name},
                                    {"leaseDurationSeconds", kLeaseSeconds},
                                    {"renewTime", format_micro_time(now)}});
  net::Request patch = request_of("PATCH", fmt::format("{}/{}", kLeases, name));
  patch.headers.emplace("content-type", "application/merge-patch+json");
  patch.body = Value::object({{"spec", spec}});
  int status = server_.handle(std::move(patch), now).status;
  if (status == kNotFound) {
    const Value owner =
        OwnerReference{
            .api_version = "v1", .kind = "Node", .name = name, .uid = node["metadata"]["uid"].str()}
            .to_value();
    net::Request create = request_of("POST", kLeases);
    create.headers.emplace("content-type", "application/json");
    create.body = Value::object(
        {{"apiVersion", "coordination.k8s.io/v1"},
         {"kind", "Lease"},
         {"metadata", Value::object({{"name", name}, {"ownerReferences", Value::list({owner})}})},
         {"spec", spec}});
    status = server_.handle(std::move(create), now).status;
  }
  if (status >= kFailed) {
    log::warn("a node's lease was not renewed", {{"node", name}, {"status", status}});
  }
}

}  // namespace athanor::lab
