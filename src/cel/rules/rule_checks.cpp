// SPDX-License-Identifier: Apache-2.0
// What a definition's rules must be like: they compile, their messages are messages, and no object
// can make them cost too much (docs/spec/apiserver.md 13.5).
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cel/rules/estimate.hpp"
#include "cel/rules/rule.hpp"
#include "cel/rules/rule_path.hpp"
#include "cel/rules/schema_rules.hpp"
#include "cel/rules/schema_type.hpp"

namespace athanor::cel {
namespace {

constexpr std::size_t kMostExpensive = 4;        // rules that a total is blamed on,
constexpr std::uint64_t kExpensive = 1'000'000;  // from this cost on

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

bool is_multi_line(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n\v\f");
  const std::size_t end = text.find_last_not_of(" \t\r\n\v\f");
  const std::size_t found = text.find('\n', start == std::string_view::npos ? 0 : start);
  return found != std::string_view::npos && end != std::string_view::npos && found < end;
}

// As the API server shows a rule that does not compile.
Value shown_rule(const Value& rule) {
  const auto text = [&](std::string_view name) { return Value(rule[name].as_string()); };
  return Value::object({{"Rule", text("rule")},
                        {"Message", text("message")},
                        {"MessageExpression", text("messageExpression")},
                        {"Reason", rule["reason"]},
                        {"FieldPath", text("fieldPath")},
                        {"OptionalOldSelf", rule["optionalOldSelf"]}});
}

std::string cost_text(std::string_view what, std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  const std::string times = factor > 100   ? "more than 100x"
                            : factor < 1.5 ? fmt::format("{:f}x", factor)
                                           : fmt::format("{:.1f}x", factor);
  return fmt::format(
      "{} exceeds budget by factor of {} (try simplifying the rule, or adding maxItems, "
      "maxProperties, and maxLength where arrays, maps, and strings are declared)",
      what, times);
}

// The walk's current place.
struct Spot {
  std::string path{};
  TypePtr type{};
  // How often one object can have such a value; nullopt: nothing bounds it but the request's size.
  std::optional<std::uint64_t> times = 1;
  std::string uncorrelated{};  // the part around that has no counterpart in the old object
};

class RuleChecker {
 public:
  void check(const Value& node, const Schema& schema, const Spot& spot) {
    const Value& rules = node["x-kubernetes-validations"];
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string path = fmt::format("{}.x-kubernetes-validations[{}]", spot.path, i);
      check_texts(rules[i], path, schema);
      check_rule(rules[i], path, spot);
    }
    below(node, schema, spot);
  }

  std::vector<FieldError> finish(std::string_view path) {
    if (total_ > kSchemaEstimateLimit) {
      std::ranges::stable_sort(costs_, std::greater<>(), &Cost::cost);
      for (std::size_t i = 0; i < std::min(costs_.size(), kMostExpensive); ++i) {
        errors_.push_back(FieldError::forbidden(
            costs_[i].path,
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 "
            "schema"));
      }
      errors_.push_back(FieldError::forbidden(
          path, cost_text("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 "
                          "schema",
                          total_, kSchemaEstimateLimit)));
    }
    return std::move(errors_);
  }

 private:
  void below(const Value& node, const Schema& schema, const Spot& spot) {
    const auto times = [&](const std::optional<std::int64_t>& most) {
      return most && spot.times
                 ? std::optional(saturating_product(
                       *spot.times, static_cast<std::uint64_t>(std::max<std::int64_t>(*most, 0))))
                 : std::nullopt;
    };
    for (const Member& member : node["properties"].members()) {
      const SchemaField* field = schema.field(member.key());
      if (field == nullptr || !field->schema->name.empty()) {
        continue;
      }
      const bool atomic = schema.map_type == MapType::Atomic;
      check(member.value, *field->schema,
            step(spot, fmt::format("{}.properties[{}]", spot.path, member.key()), *field->schema,
                 spot.times, atomic));
    }
    if (schema.items != nullptr && node["items"].is_object()) {
      check(node["items"], *schema.items,
            step(spot, spot.path + ".items", *schema.items, times(schema.max_items),
                 schema.list_type != ListType::Map));
    }
    if (schema.additional != nullptr && node["additionalProperties"].is_object()) {
      check(node["additionalProperties"], *schema.additional,
            step(spot, spot.path + ".additionalProperties", *schema.additional,
                 times(schema.max_properties), schema.map_type == MapType::Atomic));
    }
  }

  static Spot step(const Spot& spot, std::string path, const Schema& schema,
                   std::optional<std::uint64_t> times, bool breaks_correlation) {
    return {.path = std::move(path),
            .type = custom_type(
                schema, schema.embedded_resource ? SchemaPlace::ResourceRoot : SchemaPlace::Field),
            .times = times,
            .uncorrelated =
                spot.uncorrelated.empty() && breaks_correlation ? spot.path : spot.uncorrelated};
  }

  void check_texts(const Value& rule, const std::string& path, const Schema& schema) {
    const std::string_view text = rule["rule"].as_string();
    const std::string_view message = rule["message"].as_string();
    if (is_blank(text)) {
      errors_.push_back(FieldError::required(path + ".rule", "rule is not specified"));
    } else if (!message.empty() && is_blank(message)) {
      errors_.push_back(FieldError::invalid(path + ".message", rule["message"],
                                            "must be non-empty if specified"));
    } else if (is_multi_line(message)) {
      errors_.push_back(
          FieldError::invalid(path + ".message", rule["message"], "must not contain line breaks"));
    } else if (is_multi_line(text) && message.empty()) {
      errors_.push_back(FieldError::required(
          path + ".message", "message must be specified if rule contains line breaks"));
    }
    const std::string_view expression = rule["messageExpression"].as_string();
    if (!expression.empty() && is_blank(expression)) {
      errors_.push_back(FieldError::required(path + ".messageExpression",
                                             "messageExpression must be non-empty if specified"));
    }
    const Value& reason = rule["reason"];
    const std::vector<std::string> reasons = {"FieldValueDuplicate", "FieldValueForbidden",
                                              "FieldValueInvalid", "FieldValueRequired"};
    if (!reason.is_null() && std::ranges::find(reasons, reason.str()) == reasons.end()) {
      errors_.push_back(FieldError::not_supported(path + ".reason", reason, reasons));
    }
    check_field_path(rule["fieldPath"], path + ".fieldPath", schema);
  }

  void check_field_path(const Value& value, const std::string& path, const Schema& schema) {
    const std::string_view text = value.as_string();
    if (text.empty()) {
      return;
    }
    if (is_blank(text)) {
      errors_.push_back(FieldError::invalid(path, value, "must be non-empty if specified"));
    } else if (text.find('\n') != std::string_view::npos) {
      errors_.push_back(FieldError::invalid(path, value, "must not contain line breaks"));
    } else if (!is_field_path(text, schema)) {
      errors_.push_back(FieldError::invalid(path, value, "must be a valid path"));
    }
  }

  void check_rule(const Value& value, const std::string& path, const Spot& spot) {
    if (is_blank(value["rule"].as_string()) || spot.type == nullptr) {
      return;
    }
    const Rule rule = compile_rule(value, spot.type);
    if (!rule.error.empty()) {
      errors_.push_back(FieldError::invalid(path + ".rule", shown_rule(value), rule.error));
    } else {
      check_cost(*rule.program, path + ".rule", "estimated rule cost", spot);
    }
    if (!rule.message_error.empty()) {
      errors_.push_back(
          FieldError::invalid(path + ".messageExpression", shown_rule(value), rule.message_error));
    } else if (rule.message_expression != nullptr) {
      check_cost(*rule.message_expression, path + ".messageExpression",
                 "estimated messageExpression cost", spot);
    }
    if (rule.uses_old_self && !spot.uncorrelated.empty()) {
      errors_.push_back(FieldError::invalid(
          path + ".rule", value["rule"],
          fmt::format("oldSelf cannot be used on the uncorrelatable portion of the schema within "
                      "{}",
                      spot.uncorrelated)));
    }
    if (!rule.uses_old_self && value["optionalOldSelf"].is_bool()) {
      errors_.push_back(FieldError::invalid(path + ".optionalOldSelf", value["optionalOldSelf"],
                                            "may not be set if oldSelf is not used in rule"));
    }
  }

  void check_cost(const Program& program, const std::string& path, std::string_view what,
                  const Spot& spot) {
    const std::uint64_t times = spot.times.value_or(
        static_cast<std::uint64_t>(kLargestRequest / (spot.type->min_size + 1)));
    const std::uint64_t cost = saturating_product(estimate_cost(program), times);
    if (cost > kEstimateLimit) {
      errors_.push_back(FieldError::forbidden(path, cost_text(what, cost, kEstimateLimit)));
    }
    total_ = saturating_sum(total_, cost);
    if (cost >= kExpensive) {
      costs_.push_back({.path = path, .cost = cost});
    }
  }

  struct Cost {
    std::string path{};
    std::uint64_t cost = 0;
  };
  std::vector<FieldError> errors_{};
  std::vector<Cost> costs_{};
  std::uint64_t total_ = 0;
};

}  // namespace

std::vector<FieldError> check_schema_rules(const Value& open_api, const Schema& root,
                                           std::string_view path) {
  RuleChecker checker;
  checker.check(open_api, root,
                {.path = std::string(path),
                 .type = custom_type(root, SchemaPlace::ResourceRoot),
                 .times = 1,
                 .uncorrelated = {}});
  return checker.finish(path);
}

}  // namespace athanor::cel
