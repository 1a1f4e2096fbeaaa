// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/port_events.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/digest.hpp"
#include "base/log.hpp"

namespace athanor::lab {
namespace {

constexpr std::string_view kPod = "pod ";
constexpr int kRefusedFrom = 400;
constexpr int kConflict = 409;
constexpr std::size_t kDigits = 16;
constexpr std::size_t kNameInEvent = 200;  // an Event's name has at most 253 characters

}  // namespace

void write_port_event(apiserver::Server& server, const store::Store& store,
                      const nodes::PortProblem& problem, Instant now) {
  std::string_view owner = problem.owner;
  const bool pod = owner.starts_with(kPod);
  owner.remove_prefix(pod ? kPod.size() : 0);
  const std::size_t slash = std::min(owner.find('/'), owner.size());
  const std::string ns(owner.substr(0, slash));
  const std::string name(owner.substr(std::min(slash + 1, owner.size())));
  const auto object = store.get(pod ? "pods" : "services", {ns, name});
  if (object == nullptr) {
    return;
  }
  const Value& uid = object->body["metadata"]["uid"];
  const std::string time = format_time(now);
  net::Request create;
  create.method = "POST";
  create.path = fmt::format("/api/v1/namespaces/{}/events", ns);
  create.credentials.internal_user = "system:apiserver";
  create.headers.emplace("content-type", "application/json");
  create.body = Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Event"},
       {"metadata",
        // Once for each problem of the object.
        Value::object(
            {{"name", fmt::format("{}.{}", name.substr(0, kNameInEvent),
                                  sha256_hex(uid.str() + problem.text).substr(0, kDigits))},
             {"namespace", ns}})},
       {"involvedObject", Value::object({{"apiVersion", "v1"},
                                         {"kind", pod ? "Pod" : "Service"},
                                         {"namespace", ns},
                                         {"name", name},
                                         {"uid", uid}})},
       {"type", "Warning"},
       {"reason", "PortNotServed"},
       {"message", problem.text},
       {"source", Value::object({{"component", "athanor-proxy"}})},
       {"firstTimestamp", time},
       {"lastTimestamp", time},
       {"count", 1}});
  const int status = server.handle(std::move(create), now).status;
  if (status >= kRefusedFrom && status != kConflict) {
    log::warn("cannot write the event of a port", {{"of", problem.owner}, {"status", status}});
  }
}

}  // namespace athanor::lab
