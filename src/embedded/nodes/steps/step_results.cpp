// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/steps/step_results.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "cel/conditions.hpp"
#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

constexpr std::string_view kOpen = "$(steps.";
constexpr std::string_view kStepPrefix = "step-";
constexpr int kTaskResult = 1;  // types of entries in a step's message
constexpr int kInternal = 3;
constexpr int kStepResult = 4;
constexpr int kStepArtifacts = 5;
// Bounds all texts of a step together, after substitution: more than a command line may hold, and
// far less than what repeated references to results of 1 MiB could make of an object of 1 MiB.
constexpr std::size_t kMostText = std::size_t{4} << 20;

using Texts = std::map<std::string, std::string, std::less<>>;

// Adds "<step>.outputs.<artifact>" and the like of a file of artifacts.
void add_artifacts(const std::string& step, const Value& file, Texts& artifacts) {
  for (const std::string_view part : {"inputs", "outputs"}) {
    for (const Value& artifact : file[part].items()) {
      artifacts.insert_or_assign(step + "." + std::string(part) + "." + artifact["name"].str(),
                                 json::print(artifact["values"]));
    }
  }
}

std::string text_of(const Value& value) {
  return value.is_string() ? value.str() : json::print(value);
}

}  // namespace

// Counts the bytes by which the texts of one step may still grow.
class StepResults::Budget {
 public:
  cel::Conditions conditions{};

  // Counts a text. Error: `variable` made the texts too large.
  [[nodiscard]] Result<void> take(std::size_t bytes, std::string_view variable) {
    if (bytes > left_) {
      return Error{
          .code = 413,
          .reason = "TooLarge",
          .message = fmt::format("$(steps.{}) makes the texts of the step larger than {} MiB",
                                 variable, kMostText >> 20)};
    }
    left_ -= bytes;
    return {};
  }

  // Returns the text with each $(steps.<x>) replaced that `find` knows.
  template <class Find>
  [[nodiscard]] Result<std::string> replaced(std::string_view text, const Find& find) {
    std::string out;
    while (true) {
      const std::size_t open = text.find(kOpen);
      const std::size_t close = open == std::string_view::npos ? open : text.find(')', open);
      if (close == std::string_view::npos) {
        return out.append(text);
      }
      const std::string_view whole = text.substr(open, close + 1 - open);
      const std::string_view variable = whole.substr(kOpen.size(), whole.size() - kOpen.size() - 1);
      const std::optional<std::string> value = find(variable);
      if (value) {
        ATHANOR_TRY_VOID(take(value->size(), variable));
      }
      out.append(text.substr(0, open)).append(value ? *value : std::string(whole));
      text.remove_prefix(close + 1);
    }
  }

 private:
  std::size_t left_ = kMostText;
};

void StepResults::add(std::string_view container, std::string_view message) {
  const auto entries = json::parse(message);
  if (!entries.ok() || !entries->is_list() || !container.starts_with(kStepPrefix)) {
    return;
  }
  const std::string step(container.substr(kStepPrefix.size()));
  for (const Value& entry : entries->items()) {
    const std::int64_t type = entry["type"].as_int();
    if (type == kStepResult || type == kTaskResult) {
      const std::string name = step + ".results." + entry["key"].str();
      // A result of the step itself comes before the task's of the same name.
      if (type == kStepResult || !values_.contains(name)) {
        values_.insert_or_assign(name, entry["value"].str());
      }
    } else if (type == kStepArtifacts) {
      add_artifacts(step, json::parse(entry["value"].as_string()).value_or(Value()), artifacts_);
    }
  }
}

std::optional<std::string> StepResults::find(std::string_view variable) const {
  if (const auto whole = values_.find(variable); whole != values_.end()) {
    return whole->second;
  }
  if (const auto artifact = artifacts_.find(variable); artifact != artifacts_.end()) {
    return artifact->second;
  }
  if (variable.ends_with(']')) {
    const std::size_t open = variable.rfind('[');
    const auto list = values_.find(variable.substr(0, open));
    std::size_t index = 0;
    const char* last = variable.data() + variable.size() - 1;
    const auto parsed =
        std::from_chars(variable.data() + std::min(open, variable.size()) + 1, last, index);
    if (list == values_.end() || parsed.ec != std::errc{} || parsed.ptr != last) {
      return std::nullopt;
    }
    const auto items = json::parse(list->second);
    return items.ok() && items->is_list() && index < items->size()
               ? std::optional(text_of((*items)[index]))
               : std::nullopt;
  }
  const std::size_t dot = variable.rfind('.');
  const auto object = values_.find(variable.substr(0, std::min(dot, variable.size())));
  if (object == values_.end()) {
    return std::nullopt;
  }
  const auto members = json::parse(object->second);
  const Value* member = members.ok() ? members->find(variable.substr(dot + 1)) : nullptr;
  return member == nullptr ? std::nullopt : std::optional(text_of(*member));
}

Result<std::string> StepResults::substitute(std::string_view text) const {
  Budget budget;
  return substitute(text, budget);
}

Result<std::string> StepResults::substitute(std::string_view text, Budget& budget) const {
  return budget.replaced(text, [this](std::string_view variable) { return find(variable); });
}

Result<std::string> StepResults::substitute_artifacts(std::string_view script,
                                                      Budget& budget) const {
  return budget.replaced(script, [this](std::string_view variable) {
    const auto artifact = artifacts_.find(variable);
    return artifact == artifacts_.end() ? std::nullopt : std::optional(artifact->second);
  });
}

std::optional<Value> StepResults::find_list(std::string_view text) const {
  constexpr std::string_view kEnd = "[*])";
  if (!text.starts_with(kOpen) || !text.ends_with(kEnd)) {
    return std::nullopt;
  }
  const auto list =
      values_.find(text.substr(kOpen.size(), text.size() - kOpen.size() - kEnd.size()));
  auto items = list == values_.end() ? Result<Value>(Value()) : json::parse(list->second);
  return items.ok() && items->is_list() ? std::optional(*std::move(items)) : std::nullopt;
}

Result<std::vector<std::string>> StepResults::words_of(std::string_view word,
                                                       Budget& budget) const {
  std::vector<std::string> words;
  if (const auto items = find_list(word)) {
    for (const Value& item : items->items()) {
      words.push_back(text_of(item));
      ATHANOR_TRY_VOID(budget.take(words.back().size(),
                                   word.substr(kOpen.size(), word.size() - kOpen.size() - 1)));
    }
    return words;
  }
  ATHANOR_TRY(std::string text, substitute(word, budget));
  words.push_back(std::move(text));
  return words;
}

Result<Value> StepResults::substituted(Value container) const {
  if (values_.empty() && artifacts_.empty()) {
    return container;
  }
  Budget budget;
  if (container.contains("script")) {
    ATHANOR_TRY(const std::string script,
                substitute_artifacts(container["script"].as_string(), budget));
    container.set("script", script);
  }
  Value command = Value::list();
  for (const Value& word : container["command"].items()) {
    ATHANOR_TRY(const std::vector<std::string> words, words_of(word.as_string(), budget));
    for (const std::string& text : words) {
      command.push_back(text);
    }
  }
  Value env = Value::list();
  for (const Value& pair : container["env"].items()) {
    ATHANOR_TRY(const std::string text, substitute(pair[1].as_string(), budget));
    env.push_back(Value::list({pair[0], text}));
  }
  container.set("command", std::move(command));
  container.set("env", std::move(env));
  return container;
}

Result<bool> StepResults::holds(const Value& guard, Budget& budget) const {
  if (!guard["cel"].as_string().empty()) {
    ATHANOR_TRY(const std::string expression, substitute(guard["cel"].as_string(), budget));
    auto value = budget.conditions.holds(expression);
    if (!value) {
      return Error::bad_request(
          fmt::format("CEL expression {}: {}", expression, value.error().message));
    }
    return value;
  }
  ATHANOR_TRY(const std::string input, substitute(guard["input"].as_string(), budget));
  bool found = false;
  for (const Value& value : guard["values"].items()) {
    ATHANOR_TRY(const std::vector<std::string> words, words_of(value.as_string(), budget));
    found = found || std::ranges::find(words, input) != words.end();
  }
  return (guard["operator"].as_string() == "notin") != found;
}

Result<bool> StepResults::allow(const Value& when) const {
  Budget budget;
  for (const Value& guard : when.items()) {
    ATHANOR_TRY(const bool holds_now, holds(guard, budget));
    if (!holds_now) {
      return false;
    }
  }
  return true;
}

std::string skipped_message() {
  return json::print(
      Value::list({Value::object({{"key", "Reason"}, {"value", "Skipped"}, {"type", kInternal}})}));
}

}  // namespace athanor::nodes
