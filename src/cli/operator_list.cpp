// SPDX-License-Identifier: Apache-2.0
// Systems and the choice among them.
#include "cli/operator_list.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>

#include "embedded/lab/embedded_operators.hpp"
#include "fournos/operators.hpp"
#include "hearth/operators.hpp"

namespace athanor::cli {
namespace {

std::vector<const Operator*> all_of(std::span<const Operator* const> operators) {
  return {operators.begin(), operators.end()};
}

// Of the embedded control plane's operators those whose names begin so.
std::vector<const Operator*> stand_ins(std::initializer_list<std::string_view> prefixes) {
  std::vector<const Operator*> chosen;
  for (const Operator* op : lab::embedded_operators()) {
    if (std::ranges::any_of(
            prefixes, [&](std::string_view prefix) { return op->name.starts_with(prefix); })) {
      chosen.push_back(op);
    }
  }
  return chosen;
}

bool names(const System& system, const Operator& op, const std::string& word) {
  return word == op.name || word == system.name || (word == "*" && system.by_default);
}

Result<void> check_word(const std::vector<System>& all, const std::string& word) {
  std::string known;
  for (const System& system : all) {
    for (const Operator* op : system.operators) {
      if (names(system, *op, word)) {
        return {};
      }
    }
    known += (known.empty() ? "" : ", ") + system.name;
  }
  return Error::bad_request(fmt::format(
      "--controllers: \"{}\" is neither a system nor a controller; systems are {}", word, known));
}

}  // namespace

std::vector<System> systems() {
  return {
      {.name = "fournos", .by_default = true, .operators = all_of(fournos::fournos_operators())},
      {.name = "hearth", .by_default = true, .operators = all_of(hearth::hearth_operators())},
      {.name = "kueue",
       .operators = stand_ins({"kueue-"}),
       .webhooks = lab::embedded_webhooks("kueue")},
      {.name = "tekton",
       .operators = stand_ins({"tekton-"}),
       .webhooks = lab::embedded_webhooks("tekton")},
      {.name = "nodes", .operators = stand_ins({"kubelet", "emulated-"})}};
}

std::vector<std::string> comma_words(const std::string& list) {
  std::vector<std::string> words;
  std::size_t start = 0;
  while (start <= list.size()) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    if (end > start) {
      words.push_back(list.substr(start, end - start));
    }
    start = end + 1;
  }
  return words;
}

Result<std::vector<const Operator*>> select_operators(const std::string& list) {
  const std::vector<System> all = systems();
  std::set<std::string> wanted;
  std::set<std::string> unwanted;
  for (const std::string& word : comma_words(list)) {
    const bool out = word.front() == '-';
    const std::string name = out ? word.substr(1) : word;
    ATHANOR_TRY_VOID(check_word(all, name));
    (out ? unwanted : wanted).insert(name);
  }
  std::vector<const Operator*> chosen;
  for (const System& system : all) {
    for (const Operator* op : system.operators) {
      const auto is_named = [&](const std::string& word) { return names(system, *op, word); };
      if (std::ranges::any_of(wanted, is_named) && std::ranges::none_of(unwanted, is_named)) {
        chosen.push_back(op);
      }
    }
  }
  if (chosen.empty()) {
    return Error::bad_request("--controllers: no controller is left to run");
  }
  return chosen;
}

Result<std::vector<Webhook>> select_webhooks(const std::string& list) {
  ATHANOR_TRY(const std::vector<const Operator*> chosen, select_operators(list));
  std::vector<Webhook> webhooks;
  for (const System& system : systems()) {
    const bool runs = std::ranges::any_of(system.operators, [&](const Operator* op) {
      return std::ranges::find(chosen, op) != chosen.end();
    });
    if (runs) {
      webhooks.insert(webhooks.end(), system.webhooks.begin(), system.webhooks.end());
    }
  }
  return webhooks;
}

std::vector<std::string> webhook_configurations(const std::vector<Webhook>& webhooks,
                                                const std::string& own) {
  std::set<std::string> names;
  for (const Webhook& webhook : webhooks) {
    names.insert(webhook.configuration.empty() ? own : std::string(webhook.configuration));
  }
  return {names.begin(), names.end()};
}

}  // namespace athanor::cli
