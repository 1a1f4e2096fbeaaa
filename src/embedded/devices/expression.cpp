// SPDX-License-Identifier: Apache-2.0
#include "embedded/devices/expression.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace athanor::devices {
namespace {

using Entries = std::vector<std::pair<cel::Val, cel::Val>>;

// By domain; a domain without entries is an empty map, so that an expression about one that a
// device lacks fails for its name and not for its domain.
class Domains final : public cel::MapNode {
 public:
  explicit Domains(const std::map<std::string, Entries, std::less<>>& domains) {
    for (const auto& [domain, entries] : domains) {
      domains_.emplace(domain, cel::Val::map(entries));
    }
  }
  [[nodiscard]] std::size_t size() const override { return domains_.size(); }
  [[nodiscard]] std::optional<cel::Val> find(const cel::Val& key) const override {
    const auto found = domains_.find(key.text());
    return found == domains_.end() ? cel::Val::map(Entries()) : found->second;
  }
  [[nodiscard]] std::vector<cel::Val> keys() const override {
    std::vector<cel::Val> keys;
    keys.reserve(domains_.size());
    for (const auto& [domain, entries] : domains_) {
      keys.push_back(cel::Val::string(domain));
    }
    return keys;
  }

 private:
  std::map<std::string, cel::Val, std::less<>> domains_{};
};

using Compiled = Result<cel::Program::Ptr>;

Compiled compile_call(const char* call) {
  return cel::Program::compile(call, {{"text", cel::simple_type(cel::TypeKind::String)}});
}

// What a function of the library makes of a text.
cel::Val made_by(const Compiled& call, const Value& text) {
  return call.ok() ? (*call)->evaluate({{"text", cel::Val::string(text)}}).value
                   : cel::Val::error(call.error().message);
}

cel::Val version_of(const Value& text) {
  static const Compiled kCall = compile_call("semver(text)");
  return made_by(kCall, text);
}

cel::Val quantity_of(const Value& text) {
  static const Compiled kCall = compile_call("quantity(text)");
  return made_by(kCall, text);
}

cel::Val attribute(const Value& value) {
  if (const Value& version = value["version"]; version.is_string()) {
    return version_of(version);
  }
  for (const char* form : {"bool", "int", "string"}) {
    if (const Value& found = value[form]; !found.is_null()) {
      return cel::adapt(found);
    }
  }
  return cel::Val::error("attribute without a value");
}

template <class Make>
cel::Val by_domain(const Value& members, std::string_view driver, const Make& make) {
  std::map<std::string, Entries, std::less<>> domains;
  for (const Member& one : members.members()) {
    const std::size_t slash = one.key().find('/');
    const bool own = slash == std::string_view::npos;
    domains[std::string(own ? driver : one.key().substr(0, slash))].emplace_back(
        cel::Val::string(own ? one.key() : one.key().substr(slash + 1)), make(one.value));
  }
  return cel::Val::map(std::make_shared<Domains>(domains));
}

// A device is small; an expression that makes more than this is an attack.
constexpr std::size_t kByteLimit = std::size_t{4} << 20;
constexpr std::uint64_t kCompileCost = 2;  // of one byte of an expression

Result<bool> verdict(const Result<cel::Evaluation>& done) {
  if (!done.ok()) {
    return Error::bad_request("compilation failed: " + done.error().message);
  }
  if (done->value.is_error()) {
    return Error::bad_request("runtime error: " + std::string(done->value.text()));
  }
  if (!done->value.is(cel::Val::Kind::Bool)) {
    return Error::bad_request("the result is not a bool");
  }
  return done->value.is_true();
}

}  // namespace

cel::Val seen_by_expressions(const Value& device, std::string_view driver) {
  return cel::Val::map(Entries{
      {cel::Val::string("driver"), cel::Val::string(driver)},
      {cel::Val::string("allowMultipleAllocations"),
       cel::Val::boolean(device["allowMultipleAllocations"].as_bool())},
      {cel::Val::string("attributes"), by_domain(device["attributes"], driver, attribute)},
      {cel::Val::string("capacity"), by_domain(device["capacity"], driver, [](const Value& one) {
         return quantity_of(one["value"]);
       })}});
}

std::shared_ptr<cel::ExpressionCache> verdict_cache() {
  return std::make_shared<cel::ExpressionCache>("device",
                                                cel::Program::Limits{.bytes = kByteLimit});
}

Expressions::Expressions(std::shared_ptr<cel::ExpressionCache> cache, std::size_t devices)
    : cache_(std::move(cache)), budget_(kBudget + kBudgetOfDevice * devices) {}

void Expressions::charge_to(std::string_view ns) {
  ns_ = ns;
}

Result<bool> Expressions::holds(const std::string& expression, const cel::Val& device) {
  const auto [entry, fresh] = answers_.try_emplace(expression);
  Answers& answers = entry->second;
  if (const auto known = answers.find(&device); known != answers.end()) {
    return known->second;
  }
  std::uint64_t& spent = spent_[ns_].cost;
  if (fresh) {
    spent += kCompileCost * expression.size();
  }
  if (spent >= budget_) {
    return Error::bad_request("the expressions about devices of namespace \"" + ns_ +
                              "\" cost too much together");
  }
  const Result<cel::Evaluation> done = cache_->evaluate(expression, device);
  spent += done.ok() ? done->cost : 0;
  return answers.emplace(&device, verdict(done)).first->second;
}

bool Expressions::take_steps(std::uint64_t count) {
  std::uint64_t& steps = spent_[ns_].steps;
  steps += count;
  return steps <= kMostSteps;
}

}  // namespace athanor::devices
