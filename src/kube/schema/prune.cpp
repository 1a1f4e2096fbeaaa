// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/prune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "kube/names/field_error.hpp"
#include "kube/schema/prune_builtin.hpp"
#include "kube/value/member_edits.hpp"
#include "kube/value/value_extent.hpp"

namespace athanor {
namespace {

using prune::BuiltinNormalizer;
using prune::IssueCollector;

// Fields of built-in types inside a custom resource (metadata) are not its schema's business.
bool is_builtin(const Schema& schema) {
  return !schema.name.empty();
}

// Drops what the schema does not declare. Built-in metadata goes through the built-in walk.
class Pruner {
 public:
  Pruner(FieldIssues* issues, bool coerce_metadata, Nulls nulls)
      : issues_(issues), coerce_metadata_(coerce_metadata), nulls_(nulls) {}

  Value run(const Value& in, const Schema& schema) {
    Value out;
    const bool changed = prune(in, schema, out);
    issues_.finish();
    return changed ? out : in;
  }
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  bool prune(const Value& in, const Schema& schema, Value& out) {
    if (is_builtin(schema)) {
      return coerce(in, schema, out);
    }
    if (in.is_list() && schema.items != nullptr) {
      return prune_list(in, *schema.items, out);
    }
    return in.is_object() && prune_object(in, schema, out);
  }

  bool coerce(const Value& in, const Schema& schema, Value& out) {
    if (!coerce_metadata_) {
      return false;
    }
    PathText place(bracketed());
    BuiltinNormalizer normalizer(issues_, place);
    const bool changed = normalizer.normalize(in, schema, out);
    if (normalizer.error() && !error_) {
      // The metadata of an object within the object is named.
      const std::string& path = place.text();
      error_ = path.find('.') == std::string::npos
                   ? *normalizer.error()
                   : fmt::format("{}: Invalid value: {}: {}", path, error_value(in),
                                 *normalizer.error());
    }
    return changed && !normalizer.error();
  }

  bool prune_list(const Value& in, const Schema& items, Value& out) {
    Value copy = in;
    bool changed = false;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const PathText::Step step(path_, i);
      Value item;
      if (prune(in[i], items, item)) {
        copy.item(i) = std::move(item);
        changed = true;
      }
    }
    if (changed) {
      out = std::move(copy);
    }
    return changed;
  }

  // The path with keys of maps in brackets, as every message about objects within the object has
  // it.
  [[nodiscard]] std::string bracketed() const {
    std::string text = path_.text();
    for (auto key = keys_.rbegin(); key != keys_.rend(); ++key) {
      const auto [start, length] = *key;
      const bool dotted = start > 0;
      text.insert(start + length + (dotted ? 1 : 0), "]");
      text.replace(start, dotted ? 1 : 0, "[");
    }
    return text;
  }

  // An object within the object names its type in texts.
  void check_embedded_type(const Value& in) {
    for (const std::string_view name : {"apiVersion", "kind"}) {
      const Value* type = in.find(name);
      const bool absent = type == nullptr || (type->is_null() && nulls_ == Nulls::Kept);
      if (!absent && !type->is_string()) {
        error_ = fmt::format("{}: Invalid value: {}: must be a string",
                             PathText(bracketed()).child(name), error_value(in[name]));
        return;
      }
    }
  }

  bool prune_object(const Value& in, const Schema& schema, Value& out) {
    // Without a type nothing is declared, so nothing is unknown.
    const bool keep = schema.preserve_unknown || schema.type == SchemaType::Any;
    const bool embedded = schema.embedded_resource && coerce_metadata_;
    if (embedded && !error_) {
      check_embedded_type(in);
    }
    MemberEdits edits(in.members());
    for (const Member& member : in.members()) {
      give_up_if_cancelled();
      const std::string_view key = member.key();
      issues_.visit(path_, key);
      const SchemaField* field = schema.field(key);
      const SchemaPtr below = field != nullptr ? field->schema : schema.additional;
      if (below == nullptr) {
        if (keep) {
          edits.keep();
        } else {
          issues_.unknown(path_, key);
          edits.drop();
        }
        continue;
      }
      if (field == nullptr) {
        keys_.emplace_back(path_.size(), key.size());
      }
      const PathText::Step step(path_, key);
      Value value;
      if (embedded && key == "metadata" && member.value.is_null()) {
        edits.replace(Value::object());
      } else if (!member.value.is_null() && prune(member.value, *below, value)) {
        edits.replace(std::move(value));
      } else {
        edits.keep();
      }
      if (field == nullptr) {
        keys_.pop_back();
      }
    }
    const bool changed = edits.changed();
    if (changed) {
      out = std::move(edits).take();
    }
    return changed;
  }

  IssueCollector issues_;
  PathText path_{};
  std::vector<std::pair<std::size_t, std::size_t>> keys_{};  // of maps: where in the path, how long
  bool coerce_metadata_;
  Nulls nulls_;
  std::optional<std::string> error_{};
};

// Bytes of JSON that defaults may add: this much always, so many times the object's own size, and
// this much at most.
constexpr std::size_t kAlwaysAllowed = std::size_t{256} << 10;
constexpr std::size_t kGrowth = 16;
constexpr std::size_t kMostDefaults = std::size_t{4} << 20;

const Value* default_of(const Schema& schema) {
  return schema.default_value ? &*schema.default_value : nullptr;
}

// A null where the type has none: its default (in `value`); true when it is to be dropped.
bool resolve_null(const Schema& schema, Value& value) {
  if (!value.is_null() || schema.nullable) {
    return false;
  }
  const Value* fallback = default_of(schema);
  if (fallback != nullptr) {
    value = *fallback;
  }
  return fallback == nullptr;
}

// Adds defaults. A short list of empty items may become thousands of times as long: what is added
// is counted, and beyond the limit nothing more is.
class Defaulter {
 public:
  Defaulter(const Value& object, Nulls nulls) : object_(object), nulls_(nulls) {}

  bool apply(const Value& in, const Schema& schema, Value& out) {
    if (in.is_object()) {
      return object(in, schema, out);
    }
    return in.is_list() && schema.items != nullptr && list(in, *schema.items, out);
  }
  [[nodiscard]] bool too_large() const { return too_large_; }

 private:
  bool object(const Value& in, const Schema& schema, Value& out) {
    MemberEdits edits(in.members());
    for (const Member& member : in.members()) {
      give_up_if_cancelled();
      const SchemaField* field = schema.field(member.key());
      const SchemaPtr below = field != nullptr ? field->schema : schema.additional;
      if (below == nullptr || is_builtin(*below) || too_large_) {
        edits.keep();
        continue;
      }
      Value value = member.value;
      if (resolve_null(*below, value) && nulls_ == Nulls::Dropped) {
        edits.drop();
        continue;
      }
      bool replaced = member.value.is_null() && !value.is_null() && count(member.key(), value);
      Value defaulted;
      if (apply(value, *below, defaulted)) {
        value = std::move(defaulted);
        replaced = true;
      }
      if (replaced) {
        edits.replace(std::move(value));
      } else {
        edits.keep();
      }
    }
    bool changed = edits.changed();
    Value copy = changed ? std::move(edits).take() : in;
    for (const SchemaField& field : schema.fields) {
      const Value* fallback = is_builtin(*field.schema) ? nullptr : default_of(*field.schema);
      if (fallback == nullptr || copy.contains(field.name)) {
        continue;
      }
      if (!count(field.name, *fallback)) {
        break;
      }
      Value defaulted = *fallback;
      apply(*fallback, *field.schema, defaulted);
      copy.set(field.name, std::move(defaulted));
      changed = true;
    }
    if (changed) {
      out = std::move(copy);
    }
    return changed;
  }

  bool list(const Value& in, const Schema& items, Value& out) {
    Value copy = in;
    bool changed = false;
    for (std::size_t i = 0; i < in.size() && !too_large_; ++i) {
      Value value = in[i];
      // An item cannot be dropped; validation refuses a null without default.
      bool replaced =
          value.is_null() && !resolve_null(items, value) && !value.is_null() && count({}, value);
      Value defaulted;
      if (apply(value, items, defaulted)) {
        value = std::move(defaulted);
        replaced = true;
      }
      if (replaced) {
        copy.item(i) = std::move(value);
        changed = true;
      }
    }
    if (changed) {
      out = std::move(copy);
    }
    return changed;
  }

  // False: that is too much.
  bool count(std::string_view name, const Value& added) {
    constexpr std::size_t kMember = 4;  // quotes, colon and comma
    Extent extent;
    too_large_ = too_large_ || !measure(added,
                                        {.levels = kMaxRowLevels,
                                         .values = kAlwaysAllowed + kMostDefaults,
                                         .bytes = kAlwaysAllowed + kMostDefaults},
                                        extent);
    added_ += name.size() + kMember + extent.bytes;
    too_large_ = too_large_ || added_ > limit();
    return !too_large_;
  }

  std::size_t limit() {
    if (added_ > kAlwaysAllowed && !limit_) {
      Extent own;
      measure(object_, {.levels = kMaxRowLevels, .values = kMostDefaults, .bytes = kMostDefaults},
              own);
      limit_ = std::min(kAlwaysAllowed + kGrowth * own.bytes, kMostDefaults);
    }
    return limit_.value_or(kMostDefaults);
  }

  const Value& object_;
  Nulls nulls_;
  std::size_t added_ = 0;
  std::optional<std::size_t> limit_{};
  bool too_large_ = false;
};

}  // namespace

Error cannot_be_handled(std::string_view kind, std::string_view version, std::string_view why) {
  return Error::bad_request(
      fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", kind, version, kind, why));
}

Error strict_decoding_error(std::string_view kind, std::string_view version,
                            const FieldIssues& issues) {
  return cannot_be_handled(kind, version,
                           fmt::format("strict decoding error: {}", fmt::join(issues.texts, ", ")));
}

Result<Value> normalize_builtin(const Value& object, const Schema& schema, DecodedKind named,
                                FieldIssues* issues) {
  IssueCollector collector(issues);
  PathText path;
  BuiltinNormalizer normalizer(collector, path);
  Value out;
  const bool changed = normalizer.normalize(object, schema, out);
  if (normalizer.error()) {
    return cannot_be_handled(named.kind, named.version, *normalizer.error());
  }
  collector.finish();
  return changed ? out : object;
}

Result<Value> normalize_custom(const Value& object, const Schema& root, DecodedKind named,
                               FieldIssues* issues, Nulls nulls) {
  Pruner pruner(issues, true, nulls);
  const Value pruned = pruner.run(object, root);
  if (pruner.error()) {
    return cannot_be_handled(named.kind, named.version, *pruner.error());
  }
  return default_custom(pruned, root, nulls);
}

Value prune_custom(const Value& object, const Schema& schema, FieldIssues* issues) {
  return Pruner(issues, false, Nulls::Dropped).run(object, schema);
}

Result<Value> default_custom(const Value& object, const Schema& schema, Nulls nulls) {
  Defaulter defaulter(object, nulls);
  Value out;
  const bool changed = defaulter.apply(object, schema, out);
  if (defaulter.too_large()) {
    return Error{.code = 413,
                 .reason = "RequestEntityTooLarge",
                 .message =
                     "Request entity too large: the defaults of its schema make the object "
                     "many times as large"};
  }
  return changed ? out : object;
}

}  // namespace athanor
