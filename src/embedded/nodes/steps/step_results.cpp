// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/steps/step_results.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kube/text/json.hpp"

namespace athanor::nodes {
namespace {

constexpr std::string_view kOpen = "$(steps.";
constexpr std::string_view kStepPrefix = "step-";
constexpr int kTaskResult = 1;  // types of entries in a step's message
constexpr int kInternal = 3;
constexpr int kStepResult = 4;
constexpr int kStepArtifacts = 5;

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

// Replaces each $(steps.<x>) that `find` knows.
template <class Find>
std::string replaced(std::string_view text, const Find& find) {
  std::string out;
  while (true) {
    const std::size_t open = text.find(kOpen);
    const std::size_t close = open == std::string_view::npos ? open : text.find(')', open);
    if (close == std::string_view::npos) {
      return out.append(text);
    }
    const std::string_view whole = text.substr(open, close + 1 - open);
    const std::optional<std::string> value =
        find(whole.substr(kOpen.size(), whole.size() - kOpen.size() - 1));
    out.append(text.substr(0, open)).append(value ? *value : std::string(whole));
    text.remove_prefix(close + 1);
  }
}

std::string text_of(const Value& value) {
  return value.is_string() ? value.str() : json::print(value);
}

}  // namespace

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

std::string StepResults::substitute(std::string_view text) const {
  return replaced(text, [this](std::string_view variable) { return find(variable); });
}

std::string StepResults::substitute_artifacts(std::string_view script) const {
  return replaced(script, [this](std::string_view variable) {
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

Value StepResults::substituted(Value container) const {
  if (values_.empty() && artifacts_.empty()) {
    return container;
  }
  if (container.contains("script")) {
    container.set("script", substitute_artifacts(container["script"].as_string()));
  }
  Value command = Value::list();
  for (const Value& word : container["command"].items()) {
    if (const auto items = find_list(word.as_string())) {
      for (const Value& item : items->items()) {
        command.push_back(text_of(item));
      }
    } else {
      command.push_back(substitute(word.as_string()));
    }
  }
  Value env = Value::list();
  for (const Value& pair : container["env"].items()) {
    env.push_back(Value::list({pair[0], substitute(pair[1].as_string())}));
  }
  container.set("command", std::move(command));
  container.set("env", std::move(env));
  return container;
}

bool StepResults::allow(const Value& when) const {
  return std::ranges::all_of(when.items(), [this](const Value& guard) {
    const std::string input = substitute(guard["input"].as_string());
    const bool found = std::ranges::any_of(guard["values"].items(), [&](const Value& value) {
      if (const auto items = find_list(value.as_string())) {
        return std::ranges::any_of(items->items(),
                                   [&](const Value& item) { return text_of(item) == input; });
      }
      return substitute(value.as_string()) == input;
    });
    return guard["operator"].as_string() == "notin" ? !found : found;
  });
}

std::string skipped_message() {
  return json::print(
      Value::list({Value::object({{"key", "Reason"}, {"value", "Skipped"}, {"type", kInternal}})}));
}

}  // namespace athanor::nodes
