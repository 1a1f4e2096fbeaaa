// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/substitute.hpp"

#include <charconv>

#include <fmt/format.h>

namespace athanor::tekton {
namespace {

// Splits "a[3]" into "a" and "3"; nullopt without such an end.
std::optional<std::pair<std::string_view, std::string_view>> split_index(std::string_view name) {
  if (!name.ends_with(']')) {
    return std::nullopt;
  }
  const std::size_t open = name.rfind('[');
  if (open == std::string_view::npos || open == 0) {
    return std::nullopt;
  }
  return std::pair{name.substr(0, open), name.substr(open + 1, name.size() - open - 2)};
}

std::optional<std::size_t> index_number_of(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

void Replacements::set(std::string variable, Value value) {
  values_.insert_or_assign(std::move(variable), std::move(value));
}

void Replacements::set_param(std::string_view name, Value value) {
  set("params." + std::string(name), std::move(value));
}

void Replacements::erase(std::string_view variable) {
  if (const auto it = values_.find(variable); it != values_.end()) {
    values_.erase(it);
  }
}

void Replacements::then(Replacements stage) {
  stage.count_with(*this);
  std::vector<Replacements> more = std::move(stage.later_);
  stage.later_.clear();
  later_.push_back(std::move(stage));
  for (Replacements& one : more) {
    later_.push_back(std::move(one));
  }
}

void Replacements::count_with(const Replacements& other) {
  budget_ = other.budget_;
  for (Replacements& stage : later_) {
    stage.budget_ = other.budget_;
  }
}

bool Replacements::spend(std::string_view variable, std::size_t bytes) const {
  if (bytes > budget_->left) {
    if (budget_->exceeded.empty()) {
      budget_->exceeded = variable;
    }
    return false;
  }
  budget_->left -= bytes;
  return true;
}

std::string Replacements::exceeded() const {
  return budget_->exceeded.empty()
             ? std::string()
             : fmt::format("$({}) makes the values of variables larger than {} MiB",
                           budget_->exceeded, kMostInserted >> 20);
}

std::optional<Value> Replacements::find(std::string_view variable) const {
  if (variable.find("[\"") == std::string_view::npos &&
      variable.find("['") == std::string_view::npos) {
    return find_dotted(variable);
  }
  return find_dotted(dotted(variable));
}

std::optional<Value> Replacements::find_dotted(std::string_view variable) const {
  if (const auto it = values_.find(variable); it != values_.end()) {
    return it->second;
  }
  if (const auto indexed = split_index(variable)) {
    const auto base = values_.find(indexed->first);
    if (base == values_.end()) {
      return std::nullopt;
    }
    if (indexed->second == "*") {
      if (base->second.is_string()) {
        return std::nullopt;
      }
      return base->second;
    }
    const auto index = index_number_of(indexed->second);
    if (!index || !base->second.is_list() || *index >= base->second.size()) {
      return std::nullopt;
    }
    return base->second[*index];
  }
  for (std::size_t dot = variable.rfind('.'); dot != std::string_view::npos && dot > 0;
       dot = variable.rfind('.', dot - 1)) {
    const auto base = values_.find(variable.substr(0, dot));
    if (base != values_.end() && base->second.is_object()) {
      if (const Value* member = base->second.find(variable.substr(dot + 1))) {
        return *member;
      }
    }
  }
  return std::nullopt;
}

std::vector<Variable> variables_in(std::string_view text) {
  std::vector<Variable> found;
  std::size_t at = text.find("$(");
  while (at != std::string_view::npos) {
    const std::size_t inner = text.find("$(", at + 2);
    const std::size_t close = text.find(')', at + 2);
    if (close == std::string_view::npos) {
      break;
    }
    if (inner != std::string_view::npos && inner < close) {
      at = inner;
      continue;
    }
    found.push_back({at, close + 1, text.substr(at + 2, close - at - 2)});
    at = text.find("$(", close + 1);
  }
  return found;
}

std::optional<std::string_view> only_variable(std::string_view text) {
  const auto found = variables_in(text);
  if (found.size() != 1 || found[0].begin != 0 || found[0].end != text.size()) {
    return std::nullopt;
  }
  return found[0].name;
}

std::string dotted(std::string_view variable) {
  std::string out;
  for (std::size_t i = 0; i < variable.size(); ++i) {
    const char quote = i + 1 < variable.size() ? variable[i + 1] : '\0';
    if (variable[i] == '[' && (quote == '"' || quote == '\'')) {
      const std::string closing = std::string(1, quote) + "]";
      const std::size_t end = variable.find(closing, i + 2);
      if (end != std::string_view::npos) {
        out += '.';
        out += variable.substr(i + 2, end - i - 2);
        i = end + 1;
        continue;
      }
    }
    out += variable[i];
  }
  return out;
}

namespace {

bool may_hold_variables(const Value& value) {
  if (value.is_string()) {
    return value.as_string().find("$(") != std::string_view::npos;
  }
  return value.is_list() || value.is_object();
}

// Returns about how many bytes a value has as a text.
std::size_t size_of(const Value& value) {
  std::size_t bytes = 2 + value.as_string().size();
  for (const Value& item : value.items()) {
    bytes += size_of(item);
  }
  for (const Member& member : value.members()) {
    bytes += member.key().size() + size_of(member.value);
  }
  return bytes;
}

std::string substitute_stage(std::string_view text, const Replacements& replacements) {
  std::string out;
  std::size_t copied = 0;
  for (const Variable& variable : variables_in(text)) {
    const auto value = replacements.find(variable.name);
    if (!value || !value->is_string() ||
        !replacements.spend(variable.name, value->as_string().size())) {
      continue;
    }
    out += text.substr(copied, variable.begin - copied);
    out += value->as_string();
    copied = variable.end;
  }
  out += text.substr(copied);
  return out;
}

Value substitute_tree(const Value& value, const Replacements& replacements) {
  if (!may_hold_variables(value)) {
    return value;
  }
  if (value.is_string()) {
    return substitute_stage(value.as_string(), replacements);
  }
  if (value.is_list()) {
    Value list = Value::list();
    for (const Value& item : value.items()) {
      if (const auto name = only_variable(item.as_string())) {
        const auto whole = replacements.find(*name);
        if (whole && whole->is_list() && replacements.spend(*name, size_of(*whole))) {
          for (const Value& part : whole->items()) {
            list.push_back(part);
          }
          continue;
        }
      }
      list.push_back(substitute_tree(item, replacements));
    }
    return list;
  }
  Value object = value;
  for (const Member& member : value.members()) {
    Value changed = substitute_tree(member.value, replacements);
    if (!changed.identical(member.value)) {
      object.set(member.key(), std::move(changed));
    }
  }
  return object;
}

Value substitute_whole(const Value& value, const Replacements& replacements) {
  if (value.is_string()) {
    if (const auto name = only_variable(value.as_string())) {
      if (auto whole = replacements.find(*name);
          whole && replacements.spend(*name, size_of(*whole))) {
        return *std::move(whole);
      }
    }
  }
  return substitute_tree(value, replacements);
}

}  // namespace

std::string substitute(std::string_view text, const Replacements& replacements) {
  std::string out = substitute_stage(text, replacements);
  for (const Replacements& stage : replacements.later()) {
    out = substitute_stage(out, stage);
  }
  return out;
}

Value substitute_all(const Value& value, const Replacements& replacements) {
  Value result = substitute_tree(value, replacements);
  for (const Replacements& stage : replacements.later()) {
    result = substitute_tree(result, stage);
  }
  return result;
}

void substitute_members(Value& object, std::span<const std::string_view> members,
                        const Replacements& replacements) {
  for (const std::string_view member : members) {
    if (const Value* value = object.find(member)) {
      object.set(member, substitute_all(*value, replacements));
    }
  }
}

Value substitute_param(const Value& value, const Replacements& replacements) {
  Value result = substitute_whole(value, replacements);
  for (const Replacements& stage : replacements.later()) {
    result = substitute_whole(result, stage);
  }
  return result;
}

namespace {

void substitute_items(Value& object, std::string_view list_name,
                      std::span<const std::string_view> members, const Replacements& replacements) {
  if (!object[list_name].is_list()) {
    return;
  }
  Value& list = object.member(list_name);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_object()) {
      substitute_members(list.item(i), members, replacements);
    }
  }
}

constexpr std::string_view kStepFields[] = {
    "name",   "displayName", "image",        "imagePullPolicy", "command",      "args",
    "script", "workingDir",  "env",          "envFrom",         "volumeMounts", "onError",
    "params", "when",        "stdoutConfig", "stderrConfig",    "workspaces"};
constexpr std::string_view kWorkspaceFields[] = {"mountPath"};
constexpr std::string_view kInputFields[] = {
    "subPath", "persistentVolumeClaim", "configMap", "secret", "projected", "csi"};
constexpr std::string_view kPodFields[] = {
    "nodeSelector",     "tolerations",   "affinity",
    "runtimeClassName", "schedulerName", "priorityClassName",
    "imagePullSecrets", "hostAliases",   "topologySpreadConstraints"};
constexpr std::string_view kVolumeFields[] = {
    "name", "configMap", "secret", "persistentVolumeClaim", "projected", "csi"};

}  // namespace

Value substitute_task_spec(Value spec, const Replacements& replacements) {
  substitute_items(spec, "steps", kStepFields, replacements);
  substitute_items(spec, "sidecars", kStepFields, replacements);
  substitute_items(spec, "volumes", kVolumeFields, replacements);
  substitute_items(spec, "workspaces", kWorkspaceFields, replacements);
  if (spec["stepTemplate"].is_object()) {
    substitute_members(spec.member("stepTemplate"), kStepFields, replacements);
  }
  return spec;
}

Value substitute_pod_template(Value pod_template, const Replacements& replacements) {
  if (!pod_template.is_object()) {
    return pod_template;
  }
  substitute_members(pod_template, kPodFields, replacements);
  substitute_items(pod_template, "volumes", kVolumeFields, replacements);
  return pod_template;
}

Value substitute_binding(Value binding, const Replacements& replacements) {
  substitute_members(binding, kInputFields, replacements);
  return binding;
}

}  // namespace athanor::tekton
