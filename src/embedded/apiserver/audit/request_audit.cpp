// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/audit/request_audit.hpp"

#include <algorithm>
#include <cctype>

#include "embedded/apiserver/aggregation/forwarding.hpp"
#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::apiserver {
namespace {

// Those that forwarded the request first, the peer last.
Value source_addresses(const Request& request) {
  Value addresses = Value::list();
  const std::string forwarded = request.header_list("x-forwarded-for");
  std::string_view rest = forwarded;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string_view one = rest.substr(0, end);
    while (one.starts_with(' ')) {
      one.remove_prefix(1);
    }
    if (!one.empty() && one != request.peer) {
      addresses.push_back(Value(one));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  addresses.push_back(Value(request.peer.empty() ? std::string_view("::1") : request.peer));
  return addresses;
}

Value reference_to(const RequestPath& path) {
  Value reference = Value::object();
  const auto add = [&](std::string_view key, const std::string& text) {
    if (!text.empty()) {
      reference.set(key, text);
    }
  };
  add("resource", path.resource);
  add("namespace", path.ns);
  add("name", path.name);
  add("apiGroup", path.group);
  add("apiVersion", path.version);
  add("subresource", path.subresource);
  return reference;
}

// How the client tried to authenticate.
std::string attempts(const Request& request) {
  std::string methods;
  const auto add = [&](std::string_view method) {
    methods += methods.empty() ? "" : ", ";
    methods += method;
  };
  std::string scheme(request.header("authorization").substr(0, 7));
  std::ranges::transform(scheme, scheme.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (scheme.starts_with("basic ")) {
    add("basic");
  } else if (scheme == "bearer ") {
    add("bearer");
  }
  if (request.credentials.certificate || request.credentials.certificate_rejected) {
    add("x509");
  }
  return methods.empty() ? "Authentication failed, no credentials provided"
                         : "Authentication failed, attempted: " + methods;
}

// What was sent, as far as it can be read; Null when nothing was.
Value sent_value(const Call& call) {
  if (const auto* value = std::get_if<Value>(&call.request.body)) {
    return *value;
  }
  const std::string& text = std::get<std::string>(call.request.body);
  if (text.empty()) {
    return {};
  }
  const std::string_view type = call.request.header("content-type");
  if (type.find("protobuf") != std::string_view::npos) {
    const auto document = parse_body(call, {}, true);
    return document.ok() ? document->value : Value();
  }
  const auto parsed =
      type.find("yaml") != std::string_view::npos ? yaml::parse(text) : json::parse(text);
  return parsed.ok() ? *parsed : Value();
}

Value answered_value(const Response& response) {
  if (response.value) {
    return *response.value;
  }
  if (response.stream == nullptr && response.content_type.starts_with("application/json")) {
    if (const auto parsed = json::parse(response.body); parsed.ok()) {
      return *parsed;
    }
  }
  return {};
}

void drop_managed_fields(Value& object) {
  if (object["metadata"].contains("managedFields")) {
    object.member("metadata").erase("managedFields");
  }
}

class AuditedStream final : public Stream {
 public:
  AuditedStream(std::unique_ptr<Stream> inner, std::shared_ptr<RequestAudit> audit)
      : inner_(std::move(inner)), audit_(std::move(audit)) {}
  AuditedStream(const AuditedStream&) = delete;
  AuditedStream& operator=(const AuditedStream&) = delete;
  ~AuditedStream() override { audit_->ended(); }
  State pull(std::string& out) override { return inner_->pull(out); }
  void on_ready(std::function<void()> wake) override { inner_->on_ready(std::move(wake)); }

 private:
  std::unique_ptr<Stream> inner_;
  std::shared_ptr<RequestAudit> audit_;
};

class AuditedTunnel final : public Tunnel {
 public:
  AuditedTunnel(std::unique_ptr<Tunnel> inner, std::shared_ptr<RequestAudit> audit)
      : inner_(std::move(inner)), audit_(std::move(audit)) {}
  AuditedTunnel(const AuditedTunnel&) = delete;
  AuditedTunnel& operator=(const AuditedTunnel&) = delete;
  ~AuditedTunnel() override { audit_->ended(); }
  State pull(std::string& out) override { return inner_->pull(out); }
  void on_ready(std::function<void()> wake) override { inner_->on_ready(std::move(wake)); }
  void feed(std::string_view bytes) override { inner_->feed(bytes); }
  [[nodiscard]] bool wants_more() const override { return inner_->wants_more(); }

 private:
  std::unique_ptr<Tunnel> inner_;
  std::shared_ptr<RequestAudit> audit_;
};

}  // namespace

void Call::annotate(std::string key, std::string value) const {
  if (audit != nullptr) {
    audit->annotate(std::move(key), std::move(value));
  }
}

RequestAudit::RequestAudit(const Call& call, bool known, const AuditRule& rule)
    : sink_(*call.core.dependencies.audit),
      clock_(*call.core.dependencies.clock),
      policy_(call.core.options.audit_policy),
      rule_(&rule),
      id_(call.request.header("audit-id").empty() ? call.core.entropy.uuid()
                                                  : std::string(call.request.header("audit-id"))),
      received_(format_micro_time(call.now)),
      known_(known),
      long_running_(is_long_running(call.path)) {
  const Request& request = call.request;
  start_.set("kind", "Event");
  start_.set("apiVersion", "audit.k8s.io/v1");
  start_.set("level", Value(level_name(rule.level)));
  start_.set("auditID", id_);
  start_.set("stage", "");
  start_.set("requestURI", request_target(request));
  start_.set("verb", call.path.verb);
  start_.set("user", known ? call.user.to_value() : Value::object());
  start_.set("sourceIPs", source_addresses(request));
  if (const std::string_view agent = request.header("user-agent"); !agent.empty()) {
    start_.set("userAgent", Value(agent));
  }
  if (call.path.is_resource) {
    reference_ = reference_to(call.path);
  }
}

std::shared_ptr<RequestAudit> RequestAudit::begin(const Call& call, bool known) {
  const Core& core = call.core;
  if (core.options.audit_policy == nullptr || core.dependencies.audit == nullptr) {
    return nullptr;
  }
  const Attributes attributes = attributes_of(call.path, call.request, call.user);
  const AuditRule* rule = audit_rule(*core.options.audit_policy, attributes);
  if (rule == nullptr) {
    return nullptr;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  std::shared_ptr<RequestAudit> audit(new RequestAudit(call, known, *rule));
  if (known) {
    audit->emit(AuditStage::RequestReceived);
  }
  return audit;
}

void RequestAudit::emit(AuditStage stage) {
  if (std::ranges::find(rule_->omitted, stage) != rule_->omitted.end()) {
    return;
  }
  Value event = start_;
  event.set("stage", Value(stage_name(stage)));
  if (!acts_as_.is_null()) {
    event.set("impersonatedUser", acts_as_);
  }
  if (!reference_.is_null()) {
    event.set("objectRef", reference_);
  }
  if (!status_.is_null()) {
    event.set("responseStatus", status_);
  }
  if (!request_.is_null()) {
    event.set("requestObject", request_);
  }
  if (!response_.is_null()) {
    event.set("responseObject", response_);
  }
  event.set("requestReceivedTimestamp", received_);
  event.set("stageTimestamp", format_micro_time(clock_.now()));
  if (!annotations_.empty()) {
    Value annotations = Value::object();
    for (const auto& [key, value] : annotations_) {
      annotations.set(key, value);
    }
    event.set("annotations", std::move(annotations));
  }
  sink_.write(json::print(event));
}

Value RequestAudit::object_of(const Value& value) const {
  if (!rule_->omit_managed_fields || !value.is_object()) {
    return value;
  }
  Value object = value;
  drop_managed_fields(object);
  if (object["items"].is_list()) {
    Value& items = object.member("items");
    for (std::size_t i = 0; i < items.size(); ++i) {
      drop_managed_fields(items.item(i));
    }
  }
  return object;
}

void RequestAudit::note_answer(const Call& call, const Response& response) {
  Value answer = answered_value(response);
  status_ = Value::object({{"metadata", Value::object()}});
  if (answer["kind"].as_string() == "Status" && answer["apiVersion"].as_string() == "v1") {
    for (const std::string_view key : {"status", "message", "reason", "details"}) {
      if (const Value* said = answer.find(key)) {
        status_.set(key, *said);
      }
    }
  }
  if (!known_) {
    status_.set("message", attempts(call.request));
  }
  status_.set("code", response.status);

  const bool writes = call.request.method != "GET" && call.request.method != "HEAD";
  Value sent = writes && call.path.is_resource ? sent_value(call) : Value();
  if (call.path.verb == "create" && !reference_.contains("name")) {
    const Value& posted = sent["metadata"]["name"];
    const Value& named =
        posted.is_null() && response.status < 300 ? answer["metadata"]["name"] : posted;
    if (!named.as_string().empty()) {
      reference_.set("name", named);
    }
  }
  if (rule_->level >= AuditLevel::Request && known_) {
    request_ = object_of(sent);
  }
  if (rule_->level == AuditLevel::RequestResponse && known_ && call.path.is_resource) {
    response_ = object_of(answer);
  }
}

void RequestAudit::answered(const std::shared_ptr<RequestAudit>& audit, const Call& call,
                            Response& response) {
  audit->note_answer(call, response);
  if (audit->long_running_ || !audit->known_) {
    audit->emit(AuditStage::ResponseStarted);
  }
  if (!audit->known_) {
    return;
  }
  if (response.stream != nullptr) {
    response.stream = std::make_unique<AuditedStream>(std::move(response.stream), audit);
  } else if (response.tunnel != nullptr) {
    response.tunnel = std::make_unique<AuditedTunnel>(std::move(response.tunnel), audit);
  } else {
    audit->ended();
  }
}

void RequestAudit::ended() {
  emit(AuditStage::ResponseComplete);
}

}  // namespace athanor::apiserver
