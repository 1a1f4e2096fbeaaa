// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/params.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "embedded/tekton/model/text.hpp"
#include "kube/text/json.hpp"

namespace athanor::tekton {
namespace {

constexpr int kMaxDefaultDepth = 10;

// The param a variable names ("params.p", params["p"], params.p[*]), or empty.
std::string param_named_by(std::string_view variable, const std::map<std::string, Value>& known) {
  const std::string plain = dotted(variable);
  constexpr std::string_view kPrefix = "params.";
  if (!plain.starts_with(kPrefix)) {
    return {};
  }
  std::string name = plain.substr(kPrefix.size());
  if (known.contains(name)) {
    return name;
  }
  if (const std::size_t bracket = name.find('['); bracket != std::string::npos) {
    name.resize(bracket);
  }
  // p.key of an object param: the longest known prefix.
  std::string prefix = name;
  while (!known.contains(prefix)) {
    const std::size_t dot = prefix.rfind('.');
    if (dot == std::string::npos) {
      return name;
    }
    prefix.resize(dot);
  }
  return prefix;
}

void collect_params(const Value& tree, const std::map<std::string, Value>& known,
                    std::vector<std::string>& names) {
  if (tree.is_string()) {
    for (const Variable& variable : variables_in(tree.as_string())) {
      if (std::string name = param_named_by(variable.name, known); !name.empty()) {
        names.push_back(std::move(name));
      }
    }
  }
  for (const Value& item : tree.items()) {
    collect_params(item, known, names);
  }
  for (const Member& member : tree.members()) {
    collect_params(member.value, known, names);
  }
}

// Resolves the defaults among `values` that refer to other params.
class Defaults {
 public:
  Defaults(std::map<std::string, Value>& values, std::set<std::string> defaulted)
      : values_(values), open_(std::move(defaulted)) {}

  Result<void> resolve() {
    const std::set<std::string> todo = open_;
    for (const std::string& name : todo) {
      ATHANOR_TRY_VOID(resolve_one(name, 0));
    }
    return {};
  }

 private:
  Result<void> resolve_one(const std::string& name, int depth) {
    if (!open_.contains(name)) {
      return {};
    }
    if (depth > kMaxDefaultDepth || active_.contains(name)) {
      return Error::bad_request(
          "parameter resolution failed: circular dependency detected in param " + quoted(name));
    }
    active_.insert(name);
    std::vector<std::string> used;
    collect_params(values_.at(name), values_, used);
    for (const std::string& other : used) {
      if (!values_.contains(other)) {
        return Error::bad_request("parameter resolution failed: param " + quoted(name) +
                                  " references undefined param " + quoted(other));
      }
      ATHANOR_TRY_VOID(resolve_one(other, depth + 1));
    }
    if (!used.empty()) {
      Replacements replacements = replacements_of(values_);
      replacements.count_with(counted_);
      values_[name] = substitute_param(values_.at(name), replacements);
      if (const std::string grown = counted_.exceeded(); !grown.empty()) {
        return Error::bad_request("parameter resolution failed: " + grown);
      }
    }
    active_.erase(name);
    open_.erase(name);
    return {};
  }

  std::map<std::string, Value>& values_;
  std::set<std::string> open_;
  std::set<std::string> active_{};
  Replacements counted_{};
};

void collect_bad_indexes(const Value& tree, const std::map<std::string, Value>& values,
                         std::set<std::string>& bad) {
  if (tree.is_string()) {
    for (const Variable& variable : variables_in(tree.as_string())) {
      const std::string plain = dotted(variable.name);
      const std::size_t bracket = plain.rfind('[');
      if (!plain.starts_with("params.") || bracket == std::string::npos || !plain.ends_with(']')) {
        continue;
      }
      const auto value = values.find(plain.substr(7, bracket - 7));
      std::size_t index = 0;
      const char* first = plain.data() + bracket + 1;
      const char* last = plain.data() + plain.size() - 1;
      const auto parsed = std::from_chars(first, last, index);
      if (value == values.end() || !value->second.is_list() || parsed.ec != std::errc{} ||
          parsed.ptr != last) {
        continue;
      }
      if (index >= value->second.size()) {
        bad.insert("$(" + std::string(variable.name) + ")");
      }
    }
  }
  for (const Value& item : tree.items()) {
    collect_bad_indexes(item, values, bad);
  }
  for (const Member& member : tree.members()) {
    collect_bad_indexes(member.value, values, bad);
  }
}

// A string, a number or a boolean as text; nullopt for everything else.
std::optional<Value> text_of(const Value& value) {
  if (value.is_string()) {
    return value;
  }
  return value.is_number() || value.is_bool() ? std::optional<Value>(json::print(value))
                                              : std::nullopt;
}

std::optional<Value> texts_of(const Value& list) {
  Value texts = Value::list();
  for (const Value& item : list.items()) {
    auto text = text_of(item);
    if (!text) {
      return std::nullopt;
    }
    texts.push_back(*std::move(text));
  }
  return texts;
}

std::optional<Value> text_map_of(const Value& object) {
  Value texts = Value::object();
  for (const Member& member : object.members()) {
    auto text = text_of(member.value);
    if (!text) {
      return std::nullopt;
    }
    texts.set(member.key(), *std::move(text));
  }
  return texts;
}

}  // namespace

Value param_value(const Value& written) {
  if (written.is_string() || written.is_null()) {
    return written;
  }
  auto read = written.is_list()     ? texts_of(written)
              : written.is_object() ? text_map_of(written)
                                    : std::nullopt;
  return read ? *std::move(read) : Value(json::print(written));
}

void read_param_value(Value& holder, std::string_view field) {
  if (const Value* written = holder.find(field)) {
    if (Value read = param_value(*written); read != *written) {
      holder.set(field, std::move(read));
    }
  }
}

std::string_view value_type(const Value& value) {
  if (value.is_list()) {
    return "array";
  }
  return value.is_object() ? "object" : "string";
}

std::string declared_type(const Value& spec) {
  if (!spec["type"].as_string().empty()) {
    return spec["type"].str();
  }
  if (spec.contains("properties")) {
    return "object";
  }
  const Value* fallback = spec.find("default");
  return fallback == nullptr ? "string" : std::string(value_type(*fallback));
}

std::vector<std::string> missing_params(const Value& specs, const Value& params) {
  std::vector<std::string> missing;
  for (const Value& spec : specs.items()) {
    const std::string_view name = spec["name"].as_string();
    if (!spec.contains("default") && named(params, name).is_null()) {
      missing.emplace_back(name);
    }
  }
  return missing;
}

std::vector<std::string> mismatched_params(const Value& specs, const Value& params) {
  std::vector<std::string> wrong;
  for (const Value& param : params.items()) {
    const std::string_view name = param["name"].as_string();
    const Value& spec = named(specs, name);
    if (!spec.is_null() && declared_type(spec) != value_type(param["value"])) {
      wrong.emplace_back(name);
    }
  }
  return wrong;
}

std::map<std::string, std::vector<std::string>> missing_object_keys(const Value& specs,
                                                                    const Value& params) {
  std::map<std::string, std::vector<std::string>> missing;
  for (const Value& spec : specs.items()) {
    if (declared_type(spec) != "object") {
      continue;
    }
    const std::string_view name = spec["name"].as_string();
    const Value& param = named(params, name);
    if (param.is_null() && !spec.contains("default")) {
      continue;  // missing altogether: reported as such
    }
    for (const Member& property : spec["properties"].members()) {
      if (!param["value"].contains(property.key()) && !spec["default"].contains(property.key())) {
        missing[std::string(name)].emplace_back(property.key());
      }
    }
  }
  for (auto& [name, keys] : missing) {
    std::sort(keys.begin(), keys.end());
  }
  return missing;
}

std::string param_outside_enum(const Value& specs, const Value& params) {
  for (const Value& param : params.items()) {
    const std::string_view name = param["name"].as_string();
    const Value& allowed = named(specs, name)["enum"];
    const Value value = param_value(param["value"]);
    if (!allowed.empty() && std::ranges::find(allowed.items(), value) == allowed.items().end()) {
      return "param `" + std::string(name) + "` value: " + value.str() + " is not in the enum list";
    }
  }
  return {};
}

std::string go_map(const std::map<std::string, std::vector<std::string>>& keys) {
  std::vector<std::string> entries;
  entries.reserve(keys.size());
  for (const auto& [name, list] : keys) {
    entries.push_back(name + ":" + go_list(list));
  }
  return "map" + go_list(entries);
}

Result<std::map<std::string, Value>> param_values(const Value& specs, const Value& params) {
  std::map<std::string, Value> values;
  std::set<std::string> defaulted;
  for (const Value& spec : specs.items()) {
    if (const Value* fallback = spec.find("default")) {
      values[spec["name"].str()] = param_value(*fallback);
      defaulted.insert(spec["name"].str());
    }
  }
  for (const Value& param : params.items()) {
    const std::string name = param["name"].str();
    Value value = param_value(param["value"]);
    if (const auto fallback = values.find(name);
        value.is_object() && fallback != values.end() && fallback->second.is_object()) {
      for (const Member& key : fallback->second.members()) {
        if (!value.contains(key.key())) {
          value.set(key.key(), key.value);
        }
      }
    }
    values[name] = std::move(value);
    defaulted.erase(name);
  }
  ATHANOR_TRY_VOID(Defaults(values, std::move(defaulted)).resolve());
  return values;
}

Replacements replacements_of(const std::map<std::string, Value>& values) {
  Replacements replacements;
  for (const auto& [name, value] : values) {
    replacements.set_param(name, value);
  }
  return replacements;
}

std::vector<std::string> bad_array_indexes(const Value& tree,
                                           const std::map<std::string, Value>& values) {
  std::set<std::string> bad;
  collect_bad_indexes(tree, values, bad);
  return {bad.begin(), bad.end()};
}

std::string task_param_problem(const Value& specs, const Value& params) {
  if (const auto missing = missing_params(specs, params); !missing.empty()) {
    return "missing values for these params which have no default values: " + go_list(missing);
  }
  if (const auto wrong = mismatched_params(specs, params); !wrong.empty()) {
    return "param types don't match the user-specified type: " + go_list(wrong);
  }
  if (const auto keys = missing_object_keys(specs, params); !keys.empty()) {
    return "missing keys for these params which are required in ParamSpec's properties " +
           go_map(keys);
  }
  return {};
}

}  // namespace athanor::tekton
