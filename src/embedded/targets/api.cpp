// SPDX-License-Identifier: Apache-2.0
#include "embedded/targets/api.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "embedded/targets/identity.hpp"
#include "kube/names/selector.hpp"
#include "kube/protobuf/protobuf.hpp"
#include "kube/text/json.hpp"
#include "net/response_writer.hpp"

namespace athanor::targets {
namespace {

using net::Request;
using net::Response;

constexpr std::size_t kPiece = std::size_t{64} * 1024;  // of a body that goes out in pieces

Response json_response(const Value& value, int status = 200) {
  Response response;
  response.status = status;
  response.body = json::print(value) + "\n";
  return response;
}

Response text_response(std::string_view text, std::string_view type = "text/plain") {
  Response response;
  response.content_type = type;
  response.body = text;
  return response;
}

Response refusal(int code, const char* reason, std::string message) {
  return net::status_response({.code = code, .reason = reason, .message = std::move(message)});
}

// A body made while it is sent.
class Body : public net::Stream {
 public:
  void on_ready(std::function<void()> /*wake*/) override {}  // it is always ready
};

class NodeBody final : public Body {
 public:
  NodeBody(std::shared_ptr<const Face> face, std::vector<std::size_t> nodes, std::string head,
           bool table, Instant now)
      : face_(std::move(face)),
        nodes_(std::move(nodes)),
        head_(std::move(head)),
        table_(table),
        now_(now) {}

  State pull(std::string& out) override {
    out += std::exchange(head_, {});
    const std::size_t start = out.size();
    for (; next_ < nodes_.size() && out.size() - start < kPiece; ++next_) {
      if (next_ > 0) {
        out += ',';
      }
      if (table_) {
        face_->inventory.print_row(nodes_[next_], now_, out);
      } else {
        face_->inventory.print(nodes_[next_], out);
      }
    }
    if (next_ < nodes_.size()) {
      return State::Open;
    }
    out += "]}\n";
    return State::Ended;
  }

 private:
  std::shared_ptr<const Face> face_;
  std::vector<std::size_t> nodes_;
  std::string head_;
  bool table_;
  Instant now_;
  std::size_t next_ = 0;
};

// A list that continues as long as it is read.
class EndlessBody final : public Body {
 public:
  State pull(std::string& out) override {
    if (!std::exchange(begun_, true)) {
      out += R"({"apiVersion":"v1","kind":"NodeList","metadata":{},"items":[)";
    }
    const std::size_t enough = out.size() + kPiece;
    while (out.size() < enough) {
      out += R"({"metadata":{"name":"n"},"status":{"allocatable":{}}},)";
    }
    return State::Open;
  }

 private:
  bool begun_ = false;
};

// A watch of what never changes.
class SilentBody final : public Body {
 public:
  State pull(std::string& /*out*/) override { return State::Open; }
};

bool signed_in(const Face& face, const Request& request) {
  const std::string_view header = request.header("authorization");
  switch (face.target.sign_in) {
    case SignIn::Certificate:
      return request.credentials.certificate.has_value() &&
             request.credentials.certificate->common_name == kUser;
    case SignIn::Token:
      return header == "Bearer " + face.secret;
    case SignIn::Password:
      return header == "Basic " + base64_encode(fmt::format("{}:{}", kUser, face.secret));
  }
  return false;
}

Value version_of(const Target& target) {
  return Value::object({{"major", "1"},
                        {"minor", "35"},
                        {"gitVersion", target.version},
                        {"gitCommit", "emulated"},
                        {"gitTreeState", "clean"},
                        {"buildDate", "2026-01-01T00:00:00Z"},
                        {"goVersion", "none"},
                        {"compiler", "none"},
                        {"platform", "linux/amd64"}});
}

Value resource(const char* name, const char* kind, std::initializer_list<Value> verbs,
               const char* short_name) {
  Value entry = Value::object({{"name", name},
                               {"singularName", ""},
                               {"namespaced", false},
                               {"kind", kind},
                               {"verbs", Value::list(verbs)}});
  if (short_name != nullptr) {
    entry.set("shortNames", Value::list({short_name}));
  }
  return entry;
}

Value resource_list(const char* version, std::initializer_list<Value> resources) {
  return Value::object({{"kind", "APIResourceList"},
                        {"apiVersion", "v1"},
                        {"groupVersion", version},
                        {"resources", Value::list(resources)}});
}

// What discovery says; nullopt for another path.
std::optional<Value> discovery(const std::string& path) {
  if (path == "/api") {
    return Value::object({{"kind", "APIVersions"},
                          {"versions", Value::list({"v1"})},
                          {"serverAddressByClientCIDRs", Value::list()}});
  }
  if (path == "/api/v1") {
    return resource_list("v1", {resource("namespaces", "Namespace", {"get", "list"}, "ns"),
                                resource("nodes", "Node", {"get", "list", "watch"}, "no")});
  }
  if (path == "/apis") {
    const Value version =
        Value::object({{"groupVersion", "authorization.k8s.io/v1"}, {"version", "v1"}});
    return Value::object(
        {{"kind", "APIGroupList"},
         {"apiVersion", "v1"},
         {"groups", Value::list({Value::object({{"name", "authorization.k8s.io"},
                                                {"versions", Value::list({version})},
                                                {"preferredVersion", version}})})}});
  }
  if (path == "/apis/authorization.k8s.io/v1") {
    return resource_list(
        "authorization.k8s.io/v1",
        {resource("selfsubjectaccessreviews", "SelfSubjectAccessReview", {"create"}, nullptr)});
  }
  return std::nullopt;
}

// Its uid identifies the cluster.
Value kube_system(const Face& face) {
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Namespace"},
       {"metadata", Value::object({{"name", "kube-system"},
                                   {"uid", "kube-system-" + face.target.name},
                                   {"resourceVersion", "1"},
                                   {"creationTimestamp", "2026-01-01T00:00:00Z"}})},
       {"status", Value::object({{"phase", "Active"}})}});
}

// A review of what the caller may: reading nodes and namespaces.
Response review(const Face& face, const Request& request) {
  const auto* text = std::get_if<std::string>(&request.body);
  const std::string_view bytes = text == nullptr ? std::string_view() : std::string_view(*text);
  auto body = protobuf::is_envelope(bytes)
                  ? protobuf::decode(bytes, {.api_version = "authorization.k8s.io/v1",
                                             .kind = "SelfSubjectAccessReview"})
                  : json::parse(bytes);
  if (!body.ok() || !body->is_object()) {
    return refusal(400, "BadRequest", "the body is not a SelfSubjectAccessReview");
  }
  const Value& asked = (*body)["spec"]["resourceAttributes"];
  const std::string_view verb = asked["verb"].as_string();
  const std::string_view what = asked["resource"].as_string();
  const bool allowed = !face.target.faults.forbidden && asked["group"].as_string().empty() &&
                       (verb == "get" || verb == "list" || (verb == "watch" && what == "nodes")) &&
                       (what == "nodes" || what == "namespaces");
  body->set("status", Value::object({{"allowed", allowed}}));
  return json_response(*body, 201);
}

// Where a page begins: a continue token is the number of the first node, encoded.
std::optional<std::size_t> first_of(const Request& request) {
  const auto token = request.parameter("continue");
  if (!token || token->empty()) {
    return 0;
  }
  const auto text = base64url_decode(*token);
  std::size_t first = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), first).ec != std::errc()) {
    return std::nullopt;
  }
  return first;
}

std::size_t limit_of(const Request& request) {
  const std::string_view text = request.parameter("limit").value_or("");
  std::size_t limit = 0;
  std::from_chars(text.data(), text.data() + text.size(), limit);
  return limit;
}

constexpr const char* kColumns =
    R"("columnDefinitions":[)"
    R"({"name":"Name","type":"string","format":"name","description":"","priority":0},)"
    R"({"name":"Status","type":"string","format":"","description":"","priority":0},)"
    R"({"name":"Roles","type":"string","format":"","description":"","priority":0},)"
    R"({"name":"Age","type":"string","format":"","description":"","priority":0},)"
    R"({"name":"Version","type":"string","format":"","description":"","priority":0}],)";

bool wants_table(const Request& request) {
  return request.header_list("accept").find("as=Table") != std::string::npos;
}

std::string list_head(bool table, const std::string& next, std::size_t left) {
  std::string metadata = R"("metadata":{"resourceVersion":"1")";
  if (!next.empty()) {
    metadata += fmt::format(R"(,"continue":"{}","remainingItemCount":{})", next, left);
  }
  metadata += "},";
  return table ? fmt::format(R"({{"kind":"Table","apiVersion":"meta.k8s.io/v1",{}{}"rows":[)",
                             metadata, kColumns)
               : fmt::format(R"({{"kind":"NodeList","apiVersion":"v1",{}"items":[)", metadata);
}

Response list_nodes(const std::shared_ptr<const Face>& face, const Request& request, Instant now) {
  const auto selector = LabelSelector::parse(request.parameter("labelSelector").value_or(""));
  const auto first = first_of(request);
  if (!selector.ok() || !first) {
    return refusal(400, "BadRequest",
                   selector.ok() ? "continue key is not valid" : selector.error().message);
  }
  if (request.parameter("watch").value_or("") == "true") {
    Response response;
    response.stream = std::make_unique<SilentBody>();
    return response;
  }
  const std::size_t limit = limit_of(request);
  const bool all = request.parameter("labelSelector").value_or("").empty();
  std::vector<std::size_t> nodes;
  std::size_t index = *first;
  for (; index < face->inventory.size() && (limit == 0 || nodes.size() < limit); ++index) {
    if (all || selector->matches(face->inventory.labels(index))) {
      nodes.push_back(index);
    }
  }
  const std::size_t left = face->inventory.size() - std::min(index, face->inventory.size());
  const std::string next = left == 0 ? "" : base64url_encode(fmt::format("{}", index));
  const bool table = wants_table(request);
  Response response;
  response.stream =
      std::make_unique<NodeBody>(face, std::move(nodes), list_head(table, next, left), table, now);
  return response;
}

Response get_node(const std::shared_ptr<const Face>& face, const Request& request,
                  const std::string& name, Instant now) {
  const auto index = face->inventory.find(name);
  if (!index) {
    return refusal(404, "NotFound", fmt::format("nodes \"{}\" not found", name));
  }
  Response response;
  if (wants_table(request)) {
    NodeBody(face, {*index}, list_head(true, "", 0), true, now).pull(response.body);
  } else {
    face->inventory.print(*index, response.body);
  }
  return response;
}

// What is wrong with this target, as an answer.
std::optional<Response> fault(const Face& face, const Request& request) {
  const Faults& faults = face.target.faults;
  if (faults.unauthorized) {
    return refusal(401, "Unauthorized", "Unauthorized");
  }
  if (!faults.redirect.empty()) {
    Response response = text_response("");
    response.status = 302;
    response.headers.emplace_back("Location", faults.redirect);
    return response;
  }
  if (faults.web_page) {
    return text_response("<html><body>Please sign in.</body></html>\n", "text/html");
  }
  if (faults.garbage) {
    return text_response("{\"kind\": \"NodeList\", \"items\": [\x01\xff\xfe", "application/json");
  }
  if (faults.endless && request.path == "/api/v1/nodes") {
    Response response;
    response.stream = std::make_unique<EndlessBody>();
    return response;
  }
  return std::nullopt;
}

}  // namespace

Response respond(const std::shared_ptr<const Face>& face, const Request& request, Instant now) {
  const std::string& path = request.path;
  if (auto wrong = fault(*face, request)) {
    return *std::move(wrong);
  }
  if (path == "/healthz" || path == "/livez" || path == "/readyz") {
    return text_response("ok");
  }
  if (path == "/version") {
    return json_response(version_of(face->target));
  }
  if (!signed_in(*face, request)) {
    return refusal(401, "Unauthorized", "Unauthorized");
  }
  if (path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" &&
      request.method == "POST") {
    return review(*face, request);
  }
  if (request.method != "GET") {
    return refusal(405, "MethodNotAllowed", "an emulated target cluster can only be read");
  }
  if (const auto document = discovery(path)) {
    return json_response(*document);
  }
  constexpr std::string_view kNodes = "/api/v1/nodes";
  if (path.starts_with(kNodes) && face->target.faults.forbidden) {
    return refusal(403, "Forbidden",
                   fmt::format("nodes is forbidden: User \"{}\" cannot list resource \"nodes\" in "
                               "API group \"\" at the cluster scope",
                               kUser));
  }
  if (path == kNodes) {
    return list_nodes(face, request, now);
  }
  if (path.starts_with("/api/v1/nodes/")) {
    return get_node(face, request, path.substr(kNodes.size() + 1), now);
  }
  if (path == "/api/v1/namespaces/kube-system") {
    return json_response(kube_system(*face));
  }
  if (path == "/api/v1/namespaces") {
    return json_response(Value::object({{"apiVersion", "v1"},
                                        {"kind", "NamespaceList"},
                                        {"metadata", Value::object({{"resourceVersion", "1"}})},
                                        {"items", Value::list({kube_system(*face)})}}));
  }
  return refusal(404, "NotFound", "the server could not find the requested resource");
}

}  // namespace athanor::targets
