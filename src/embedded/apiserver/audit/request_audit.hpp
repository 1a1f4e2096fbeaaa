// SPDX-License-Identifier: Apache-2.0
// RequestAudit: what is written down of one request, stage by stage: Events of audit.k8s.io/v1
// (docs/spec/apiserver.md 18).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "embedded/apiserver/audit/audit_policy.hpp"
#include "embedded/apiserver/request/http.hpp"
#include "embedded/kinds/user_info.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

struct Call;

// Where Events go: one JSON document each, without a newline. Thread-safe; outlives the server and
// its streams.
class AuditSink {
 public:
  virtual ~AuditSink() = default;
  virtual void write(std::string event) = 0;
};

// Lives as long as the request, over all its passes.
class RequestAudit {
 public:
  // Begins the audit of a request whose user is known (Call::user), or of one without (`known`
  // false), and reports once that the request came in. nullptr: the policy wants none.
  static std::shared_ptr<RequestAudit> begin(const Call& call, bool known);

  // Begins a pass: what the last one found out is forgotten.
  void begin_pass() { annotations_.clear(); }
  // Adds an annotation; the first value of a key counts.
  void annotate(std::string key, std::string value) {
    annotations_.emplace(std::move(key), std::move(value));
  }
  // Sets the impersonated user.
  void acts_as(const UserInfo& user) { acts_as_ = user.to_value(); }
  [[nodiscard]] AuditLevel level() const { return rule_->level; }
  [[nodiscard]] const std::string& id() const { return id_; }

  // Records the answer, and follows a stream in it to its end.
  static void answered(const std::shared_ptr<RequestAudit>& audit, const Call& call,
                       Response& response);

  // Records that the stream of a long-running request is over.
  void ended();

 private:
  RequestAudit(const Call& call, bool known, const AuditRule& rule);
  void emit(AuditStage stage);
  void note_answer(const Call& call, const Response& response);
  [[nodiscard]] Value object_of(const Value& value) const;

  AuditSink& sink_;
  const Clock& clock_;
  const std::shared_ptr<const AuditPolicy> policy_;  // keeps rule_
  const AuditRule* const rule_;
  const std::string id_;
  const std::string received_;
  const bool known_;
  bool long_running_ = false;
  Value start_ = Value::object();  // the members that every stage has
  Value acts_as_{}, reference_{}, status_{}, request_{}, response_{};
  std::map<std::string, std::string> annotations_{};
};

}  // namespace athanor::apiserver
