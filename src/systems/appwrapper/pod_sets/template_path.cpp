// SPDX-License-Identifier: Apache-2.0
// The path grammar, and strict parsing of pod specs by the schema of the built-in types.
#include "systems/appwrapper/pod_sets/template_path.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "kube/schema/prune.hpp"
#include "kube/schema/types.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kRoot = "template";

Error wrong_path(std::string message) {
  return {.code = 422, .reason = "Invalid", .message = std::move(message)};
}

Error at(std::string_view position, std::string_view what) {
  return wrong_path(fmt::format("at path position '{}' {}", position, what));
}

// As Go's strconv.Atoi: an optional sign and digits.
std::optional<std::int64_t> integer(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) {
      return std::nullopt;
    }
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty()
             ? std::optional(number)
             : std::nullopt;
}

// One step from a value to a part of it.
struct Hop {
  std::string field{};  // of an object
  std::size_t index = 0;
  bool is_index = false;
};

// Follows a path from left to right; the first thing that is wrong ends the walk.
class Walk {
 public:
  Walk(const Value& root, std::string_view path) : value_(&root), path_(path), rest_(path) {}

  Result<const Value*> run() {
    if (!rest_.starts_with(kRoot)) {
      return wrong_path("first element of the path must be 'template'");
    }
    position_ = kRoot;
    rest_.remove_prefix(kRoot.size());
    while (!rest_.empty()) {
      ATHANOR_TRY_VOID(rest_.front() == '.'   ? take_field()
                       : rest_.front() == '[' ? take_index()
                                              : Result<void>(unexpected()));
    }
    if (!value_->is_object()) {
      return at(path_, "non-map value");
    }
    return value_;
  }
  [[nodiscard]] const std::vector<Hop>& hops() const { return hops_; }

 private:
  [[nodiscard]] Error unexpected() const {
    return at(position_, fmt::format("invalid path element '{}'", rest_));
  }

  Result<void> take_field() {
    rest_.remove_prefix(1);
    position_ += '.';
    const std::string_view field = rest_.substr(0, rest_.find_first_of(".["));
    if (!value_->is_object()) {
      return at(position_, "non-map value");
    }
    const Value* next = value_->find(field);
    if (next == nullptr) {
      return at(position_, fmt::format("missing field '{}'", field));
    }
    hops_.push_back({.field = std::string(field)});
    value_ = next;
    position_ += field;
    rest_.remove_prefix(field.size());
    return {};
  }

  Result<void> take_index() {
    const std::size_t end = rest_.find(']');
    if (end == std::string_view::npos) {
      return at(position_, fmt::format("invalid array index '{}'", rest_));
    }
    const std::string_view text = rest_.substr(1, end - 1);
    const auto index = integer(text);
    if (!index) {
      return at(position_, fmt::format("invalid index expression '{}'", text));
    }
    if (!value_->is_list()) {
      return at(position_, "found non-array value");
    }
    if (*index < 0 || static_cast<std::size_t>(*index) >= value_->size()) {
      return at(position_, fmt::format("out of bounds index '{}'", *index));
    }
    hops_.push_back({.index = static_cast<std::size_t>(*index), .is_index = true});
    value_ = &(*value_)[static_cast<std::size_t>(*index)];
    position_ += fmt::format("[{}", text);  // the closing bracket is left out (2.1)
    rest_.remove_prefix(end + 1);
    return {};
  }

  const Value* value_;
  std::string_view path_;
  std::string_view rest_;
  std::string position_{};
  std::vector<Hop> hops_{};
};

// What is wrong with a pod spec; nullopt: nothing.
std::optional<std::string> pod_spec_trouble(const Value& spec) {
  const SchemaPtr schema = BuiltinTypes::get().by_name("core.v1.PodSpec");
  ATHANOR_CHECK(schema != nullptr, "the table of built-in types has PodSpec");
  constexpr DecodedKind kNamed{.kind = "PodSpec", .version = "v1"};
  FieldIssues issues;
  const auto read = normalize_builtin(spec, *schema, kNamed, &issues);
  if (!read.ok()) {
    const std::string prefix = cannot_be_handled(kNamed.kind, kNamed.version, "").message;
    const std::string& message = read.error().message;
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }
  if (issues.texts.empty()) {
    return std::nullopt;
  }
  return fmt::format("strict decoding error: {}", fmt::join(issues.texts, ", "));
}

}  // namespace

Result<Value> resolve_path(const Value& component_template, std::string_view path) {
  ATHANOR_TRY(const Value* found, Walk(component_template, path).run());
  return *found;
}

Result<Value> pod_template_at(const Value& component_template, std::string_view path) {
  ATHANOR_TRY(Value found, resolve_path(component_template, path));
  if (!found["spec"].is_object()) {
    return wrong_path(fmt::format("content at {} does not contain a spec", path));
  }
  if (const auto trouble = pod_spec_trouble(found["spec"])) {
    return wrong_path(
        fmt::format("content at {}.spec not parseable as a v1.PodSpec: {}", path, *trouble));
  }
  return found;
}

Result<void> edit_at(Value& component_template, std::string_view path,
                     const std::function<Result<void>(Value& object)>& edit) {
  Walk walk(component_template, path);
  ATHANOR_TRY_VOID(walk.run());
  Value* target = &component_template;
  for (const Hop& hop : walk.hops()) {
    target = hop.is_index ? &target->item(hop.index) : &target->member(hop.field);
  }
  return edit(*target);
}

}  // namespace athanor::appwrapper
