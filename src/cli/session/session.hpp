// SPDX-License-Identifier: Apache-2.0
// One verb's connection, and the requests that several verbs make.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/flags/options.hpp"
#include "client/connection.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"

namespace athanor::cli {

// Selectors and a limit that the server applies.
struct ListPart {
  std::string labels{};
  std::string fields{};
  int limit = 0;  // 0: all
};

// A connection with the namespace that the verb works in. Not thread-safe.
class Session {
 public:
  // Which namespace is meant where neither a flag nor the context names one.
  enum class Home : std::uint8_t { Default, Jobs };  // Jobs: where the lab's jobs are
  static Result<Session> open(const Target& target, Home home = Home::Default);

  [[nodiscard]] const std::string& ns() const { return ns_; }
  [[nodiscard]] client::Connection& connection() { return *connection_; }

  // Returns "/apis/fournos.dev/v1/namespaces/NS/fournosjobs"; an empty namespace: all of them.
  [[nodiscard]] static std::string path(const Kind& kind, const std::string& ns,
                                        const std::string& name = {});

  Result<Object> get(const Kind& kind, const std::string& ns, const std::string& name);
  Result<std::vector<Object>> list(const Kind& kind, const std::string& ns,
                                   const std::string& label_selector = {});
  // Lists the part of all objects that the server is asked for.
  Result<std::vector<Object>> list_part(const Kind& kind, const std::string& ns,
                                        const ListPart& part);

 private:
  std::string ns_{};
  std::unique_ptr<client::Connection> connection_{};
};

// Removes metadata.managedFields: field managers are noise to a reader of jobs.
void hide_managed_fields(Value& object);
// Prints an object, or a List of several, as JSON or YAML without managedFields; or their
// names.
std::string render(const std::vector<Object>& objects, Output output, bool single);

}  // namespace athanor::cli
