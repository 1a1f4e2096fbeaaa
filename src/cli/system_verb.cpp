// SPDX-License-Identifier: Apache-2.0
// Verbs that systems bring, over HTTPS to the API server of the kubeconfig.
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::cli {
namespace {

std::string_view format_of(Output output) {
  switch (output) {
    case Output::Table:
      return "table";
    case Output::Wide:
      return "wide";
    case Output::Json:
      return "json";
    case Output::Yaml:
      return "yaml";
    case Output::Name:
      break;
  }
  return "name";
}

std::optional<std::string> found_in(const std::map<std::string, std::string, std::less<>>& given,
                                    std::string_view name) {
  const auto found = given.find(name);
  return found == given.end() ? std::nullopt : std::optional(found->second);
}

class ClusterContext final : public VerbContext {
 public:
  ClusterContext(Session session, const SystemVerbOptions& options)
      : session_(std::move(session)),
        options_(options),
        ns_(options.all_namespaces ? "" : session_.ns()),
        clock_(wall_clock()) {}

  [[nodiscard]] std::optional<std::string> flag(std::string_view name) const override {
    return found_in(options_.flags, name);
  }
  [[nodiscard]] std::optional<std::string> argument(std::string_view name) const override {
    return found_in(options_.arguments, name);
  }
  [[nodiscard]] const std::string& ns() const override { return ns_; }
  [[nodiscard]] std::string_view output() const override { return format_of(options_.output); }
  [[nodiscard]] Instant now() const override { return clock_->now(); }

  Result<Object> get(const Kind& kind, const Key& key) override {
    return session_.get(kind, key.ns, key.name);
  }
  Result<std::vector<Object>> list(const Kind& kind, const std::string& ns) override {
    return session_.list(kind, ns);
  }
  Result<Object> create(const Kind& kind, const Value& object) override {
    const std::string ns = object["metadata"]["namespace"].str();
    return written({.method = "POST", .path = Session::path(kind, ns), .body = object});
  }
  Result<Object> patch(const Kind& kind, const Key& key, const Value& merge,
                       std::string_view subresource) override {
    std::string path = Session::path(kind, key.ns, key.name);
    if (!subresource.empty()) {
      path += "/" + std::string(subresource);
    }
    return written({.method = "PATCH",
                    .path = std::move(path),
                    .body = merge,
                    .content_type = "application/merge-patch+json"});
  }
  Result<void> remove(const Kind& kind, const Key& key) override {
    const auto answer = session_.connection().call(
        {.method = "DELETE", .path = Session::path(kind, key.ns, key.name)});
    return answer.ok() ? Result<void>() : answer.error();
  }

  Result<Value> post(const Kind& kind, const Key& key, std::string_view subresource,
                     const Value& body) override {
    return session_.connection().call(
        {.method = "POST",
         .path = Session::path(kind, key.ns, key.name) + "/" + std::string(subresource),
         .body = body});
  }
  void wait(Duration time) override { std::this_thread::sleep_for(time); }

  void print(std::string_view text) override { out_.print(text); }
  void table(const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows) override {
    Table table(header);
    for (const std::vector<std::string>& row : rows) {
      table.add(row);
    }
    out_.print(table.text(options_.output == Output::Wide ? 0 : out_.columns()));
  }
  void values(const std::vector<Value>& items) override {
    Value all =
        items.size() == 1
            ? items.front()
            : Value::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", Value::list()}});
    if (items.size() == 1) {
      hide_managed_fields(all);
    } else {
      for (Value item : items) {
        hide_managed_fields(item);
        all.member("items").push_back(std::move(item));
      }
    }
    out_.print(options_.output == Output::Json ? json::print(all, json::Style::Pretty) + "\n"
                                               : yaml::print(all));
  }

 private:
  Result<Object> written(const client::Call& call) {
    auto answer = session_.connection().call(call);
    if (!answer.ok()) {
      return answer.error();
    }
    return Object(*std::move(answer));
  }

  Session session_;
  const SystemVerbOptions& options_;
  std::string ns_;
  std::unique_ptr<Clock> clock_;
  Terminal out_{STDOUT_FILENO};
};

}  // namespace

int run(const SystemVerbOptions& options) {
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  ClusterContext context(*std::move(session), options);
  const auto code = options.verb->run(context);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace athanor::cli
