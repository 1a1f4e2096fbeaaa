// SPDX-License-Identifier: Apache-2.0
// CachedContext: what a verb of the command line reads, from the console's caches: so that a page
// shows what the verb prints.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "console/world/api_port.hpp"
#include "console/world/world.hpp"
#include "runtime/view/verb.hpp"

namespace athanor::console {

// Arguments of a verb.
struct VerbCall {
  std::map<std::string, std::string, std::less<>> arguments{};
  std::map<std::string, std::string, std::less<>> flags{};
  std::string ns{};
};

// Reads kinds that are followed from the caches, others from the API server; keeps what the verb
// prints. Changes nothing: verbs that write are refused. Not thread-safe.
class CachedContext final : public VerbContext {
 public:
  CachedContext(std::shared_ptr<const Facts> facts, const ApiPort& port, Instant now,
                VerbCall call = {});

  [[nodiscard]] std::optional<std::string> flag(std::string_view name) const override;
  [[nodiscard]] std::optional<std::string> argument(std::string_view name) const override;
  [[nodiscard]] const std::string& ns() const override { return call_.ns; }
  [[nodiscard]] std::string_view output() const override { return "json"; }
  [[nodiscard]] Instant now() const override { return now_; }
  Result<Object> get(const Kind& kind, const Key& key) override;
  Result<std::vector<Object>> list(const Kind& kind, const std::string& ns) override;
  Result<Object> create(const Kind& kind, const Value& object) override;
  Result<Object> patch(const Kind& kind, const Key& key, const Value& merge,
                       std::string_view subresource) override;
  Result<void> remove(const Kind& kind, const Key& key) override;
  Result<Value> post(const Kind& kind, const Key& key, std::string_view subresource,
                     const Value& body) override;
  void wait(Duration /*time*/) override {}
  void print(std::string_view text) override { text_ += text; }
  void table(const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows) override;
  void values(const std::vector<Value>& items) override { values_ = items; }

  // Returns what the verb printed as JSON, respectively as text.
  [[nodiscard]] const std::vector<Value>& printed() const { return values_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::shared_ptr<const Facts> facts_;
  const ApiPort& port_;
  Instant now_;
  VerbCall call_;
  std::vector<Value> values_{};
  std::string text_{};
};

}  // namespace athanor::console
