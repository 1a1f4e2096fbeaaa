// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/workloads/autoscaler_texts.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "kube/schema/prune.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

enum class Form : std::uint8_t {
  Text,           // always there
  Quantity,       // always there, 0 when nothing is said
  MaybeQuantity,  // and what follows only when something is said
  Number,
  Selector,
  Reference,  // an object, always there
};

// One member of a flat metric and where v2 has it.
struct TextField {
  std::string_view flat{};
  std::string_view part{};  // "": in the source itself
  std::string_view name{};
  Form form = Form::Text;
};

// One source of a metric; its fields in the order in which they are printed.
struct TextSource {
  std::string_view name{};
  std::span<const TextField> fields{};
};

constexpr std::array kObject = {
    TextField{"target", "", "describedObject", Form::Reference},
    TextField{"metricName", "metric", "name", Form::Text},
    TextField{"targetValue", "target", "value", Form::Quantity},
    TextField{"selector", "metric", "selector", Form::Selector},
    TextField{"averageValue", "target", "averageValue", Form::MaybeQuantity}};
constexpr std::array kPods = {
    TextField{"metricName", "metric", "name", Form::Text},
    TextField{"targetAverageValue", "target", "averageValue", Form::Quantity},
    TextField{"selector", "metric", "selector", Form::Selector}};
constexpr std::array kContainerResource = {
    TextField{"name", "", "name", Form::Text},
    TextField{"targetAverageUtilization", "target", "averageUtilization", Form::Number},
    TextField{"targetAverageValue", "target", "averageValue", Form::MaybeQuantity},
    TextField{"container", "", "container", Form::Text}};
constexpr std::array kExternal = {
    TextField{"metricName", "metric", "name", Form::Text},
    TextField{"metricSelector", "metric", "selector", Form::Selector},
    TextField{"targetValue", "target", "value", Form::MaybeQuantity},
    TextField{"targetAverageValue", "target", "averageValue", Form::MaybeQuantity}};
constexpr std::array<TextSource, 5> kTextSources = {
    {{"object", kObject},
     {"pods", kPods},
     {"resource", std::span(kContainerResource).first<3>()},
     {"containerResource", kContainerResource},
     {"external", kExternal}}};

constexpr std::array kCurrentObject = {
    TextField{"target", "", "describedObject", Form::Reference},
    TextField{"metricName", "metric", "name", Form::Text},
    TextField{"currentValue", "current", "value", Form::Quantity},
    TextField{"selector", "metric", "selector", Form::Selector},
    TextField{"averageValue", "current", "averageValue", Form::MaybeQuantity}};
constexpr std::array kCurrentPods = {
    TextField{"metricName", "metric", "name", Form::Text},
    TextField{"currentAverageValue", "current", "averageValue", Form::Quantity},
    TextField{"selector", "metric", "selector", Form::Selector}};
constexpr std::array kCurrentContainerResource = {
    TextField{"name", "", "name", Form::Text},
    TextField{"currentAverageUtilization", "current", "averageUtilization", Form::Number},
    TextField{"currentAverageValue", "current", "averageValue", Form::Quantity},
    TextField{"container", "", "container", Form::Text}};
constexpr std::array kCurrentExternal = {
    TextField{"metricName", "metric", "name", Form::Text},
    TextField{"metricSelector", "metric", "selector", Form::Selector},
    TextField{"currentValue", "current", "value", Form::Quantity},
    TextField{"currentAverageValue", "current", "averageValue", Form::MaybeQuantity}};
constexpr std::array<TextSource, 5> kCurrentSources = {
    {{"object", kCurrentObject},
     {"pods", kCurrentPods},
     {"resource", std::span(kCurrentContainerResource).first<3>()},
     {"containerResource", kCurrentContainerResource},
     {"external", kCurrentExternal}}};

// Members that only differ by name; `always`: shown even when empty.
struct Renamed {
  std::string_view there{};
  std::string_view here{};
  bool always = true;
};
constexpr std::array<Renamed, 3> kPolicy = {
    {{"Type", "type"}, {"Value", "value"}, {"PeriodSeconds", "periodSeconds"}}};
constexpr std::array<Renamed, 4> kRules = {
    {{"StabilizationWindowSeconds", "stabilizationWindowSeconds"},
     {"SelectPolicy", "selectPolicy"},
     {"Policies", "policies"},
     {"Tolerance", "tolerance"}}};
constexpr std::array<Renamed, 2> kBehavior = {{{"ScaleUp", "scaleUp"}, {"ScaleDown", "scaleDown"}}};
constexpr std::array<Renamed, 5> kCondition = {{{"type", "type"},
                                                {"status", "status"},
                                                {"lastTransitionTime", "lastTransitionTime"},
                                                {"reason", "reason", false},
                                                {"message", "message", false}}};
constexpr std::array<Renamed, 3> kReference = {
    {{"kind", "kind"}, {"name", "name"}, {"apiVersion", "apiVersion", false}}};
constexpr std::array<Renamed, 2> kSelector = {
    {{"matchLabels", "matchLabels", false}, {"matchExpressions", "matchExpressions", false}}};
constexpr std::array<Renamed, 3> kRequirement = {
    {{"key", "key"}, {"operator", "operator"}, {"values", "values", false}}};

// The last member of that name, whatever its case; Null when there is none.
Value member_of(const Value& object, std::string_view name) {
  Value found;
  for (const Member& member : object.members()) {
    if (lower(member.key()) == lower(name)) {
      found = member.value;
    }
  }
  return found;
}

Value printed(const Value& object, std::span<const Renamed> fields) {
  Value shown = Value::object();
  for (const Renamed& field : fields) {
    const Value& value = object[field.here];
    if (field.always || !value.is_null()) {
      shown.set(field.there, value);
    }
  }
  return shown;
}

// What is no object stays as it is: the schema refuses it later.
Value renamed(const Value& object, std::span<const Renamed> fields) {
  if (!object.is_object()) {
    return object;
  }
  Value made = Value::object();
  for (const Renamed& field : fields) {
    if (Value value = member_of(object, field.there); !value.is_null()) {
      made.set(field.here, std::move(value));
    }
  }
  return made;
}

std::optional<Value> normal(const Value& object, std::string_view type) {
  const SchemaPtr schema = BuiltinTypes::get().by_name(type);
  auto result = normalize_builtin(object, *schema, {.kind = type, .version = "v1"});
  return result.ok() ? std::optional(*std::move(result)) : std::nullopt;
}

// A list of a type, each item made by `make`; Null is an empty one, and a Null in it says nothing.
template <class Make>
std::optional<Value> read_list(const Value& document, std::string_view type, Make make) {
  if (!document.is_list() && !document.is_null()) {
    return std::nullopt;
  }
  Value list = Value::list();
  for (const Value& item : document.items()) {
    if (!item.is_object() && !item.is_null()) {
      return std::nullopt;
    }
    std::optional<Value> made = make(item.is_null() ? Value::object() : item);
    if (made) {
      made = normal(*made, type);
    }
    if (!made) {
      return std::nullopt;
    }
    list.push_back(*std::move(made));
  }
  return list;
}

// --- metrics ---------------------------------------------------------------------------------

Value printed_selector(const Value& selector) {
  Value shown = printed(selector, kSelector);
  if (const Value labels = shown["matchLabels"]; !labels.is_null()) {
    std::vector<Member> sorted(labels.members().begin(), labels.members().end());
    std::ranges::sort(sorted, {}, &Member::key);
    shown.set("matchLabels", Value::object(std::move(sorted)));
  }
  for (std::size_t i = 0; i < selector["matchExpressions"].size(); ++i) {
    shown.member("matchExpressions").item(i) =
        printed(selector["matchExpressions"][i], kRequirement);
  }
  return shown;
}

Value flat_value(const Value& value, Form form) {
  switch (form) {
    case Form::Text:
      return value.is_null() ? Value("") : value;
    case Form::Quantity:
      return value.is_null() ? Value("0") : value;
    case Form::Reference:
      return printed(value, kReference);
    case Form::Selector:
      return value.is_null() ? value : printed_selector(value);
    case Form::MaybeQuantity:
    case Form::Number:
      break;
  }
  return value;
}

Value flat_source(const Value& source, std::span<const TextField> fields) {
  Value flat = Value::object();
  for (const TextField& field : fields) {
    const Value& from = field.part.empty() ? source : source[field.part];
    if (Value value = flat_value(from[field.name], field.form); !value.is_null()) {
      flat.set(field.flat, std::move(value));
    }
  }
  return flat;
}

std::string print_sources(const Value& metrics, std::span<const TextSource> sources) {
  Value flat = Value::list();
  for (const Value& metric : metrics.items()) {
    Value one = Value::object({{"type", Value(metric["type"].as_string())}});
    for (const TextSource& source : sources) {
      if (const Value& said = metric[source.name]; !said.is_null()) {
        one.set(source.name, flat_source(said, source.fields));
      }
    }
    flat.push_back(std::move(one));
  }
  return json::print(flat);
}

// v1 does not say what sort of target it is.
std::string_view target_type(std::string_view source, const Value& target) {
  if (!target["averageUtilization"].is_null()) {
    return "Utilization";
  }
  const bool whole = source == "object"     ? target["averageValue"].is_null()
                     : source == "external" ? !target["value"].is_null()
                                            : false;
  return whole ? "Value" : "AverageValue";
}

std::optional<Value> full_source(const Value& flat, const TextSource& source) {
  if (!flat.is_object()) {
    return std::nullopt;
  }
  Value made = Value::object();
  for (const TextField& field : source.fields) {
    Value value = member_of(flat, field.flat);
    if (field.form == Form::Reference) {
      value = renamed(value, kReference);
    } else if (field.form == Form::Selector) {
      value = renamed(value, kSelector);
    } else if (field.form == Form::Quantity && value.is_null()) {
      value = "0";
    }
    if (!value.is_null()) {
      (field.part.empty() ? made : made.member(field.part)).set(field.name, std::move(value));
    }
  }
  return made;
}

std::optional<Value> read_sources(const Value& document, std::span<const TextSource> sources,
                                  std::string_view type) {
  return read_list(document, type, [&](const Value& item) -> std::optional<Value> {
    Value metric = Value::object();
    if (Value name = member_of(item, "type"); !name.is_null()) {
      metric.set("type", std::move(name));
    }
    for (const TextSource& source : sources) {
      const Value flat = member_of(item, source.name);
      if (flat.is_null()) {
        continue;
      }
      std::optional<Value> full = full_source(flat, source);
      if (!full) {
        return std::nullopt;
      }
      if (sources.data() == kTextSources.data()) {
        Value& target = full->member("target");
        target.set("type", target_type(source.name, target));
      }
      metric.set(source.name, *std::move(full));
    }
    return metric;
  });
}

std::string print_metrics(const Value& metrics) {
  return print_sources(metrics, kTextSources);
}

std::optional<Value> read_metrics(const Value& document) {
  return read_sources(document, kTextSources, "autoscaling.v2.MetricSpec");
}

std::string print_current(const Value& metrics) {
  return print_sources(metrics, kCurrentSources);
}

std::optional<Value> read_current(const Value& document) {
  return read_sources(document, kCurrentSources, "autoscaling.v2.MetricStatus");
}

// --- the rest ----------------------------------------------------------------------------------

std::string print_behavior(const Value& behavior) {
  Value shown = printed(behavior, kBehavior);
  for (const Renamed& side : kBehavior) {
    const Value rules = shown[side.there];
    if (!rules.is_object()) {
      continue;
    }
    Value& shown_rules = shown.member(side.there);
    shown_rules = printed(rules, kRules);
    for (std::size_t i = 0; i < rules["policies"].size(); ++i) {
      shown_rules.member("Policies").item(i) = printed(rules["policies"][i], kPolicy);
    }
  }
  return json::print(shown);
}

std::optional<Value> read_behavior(const Value& document) {
  if (!document.is_object()) {
    return std::nullopt;
  }
  Value behavior = renamed(document, kBehavior);
  if (behavior.empty()) {
    return std::nullopt;
  }
  for (const Renamed& side : kBehavior) {
    if (!behavior[side.here].is_object()) {
      continue;
    }
    Value& rules = behavior.member(side.here);
    rules = renamed(rules, kRules);
    for (std::size_t i = 0; i < rules["policies"].size(); ++i) {
      if (rules["policies"].is_list()) {
        Value& policy = rules.member("policies").item(i);
        policy = policy.is_null() ? Value::object() : renamed(policy, kPolicy);
      }
    }
  }
  return normal(behavior, "autoscaling.v2.HorizontalPodAutoscalerBehavior");
}

std::string print_conditions(const Value& conditions) {
  Value shown = Value::list();
  for (const Value& condition : conditions.items()) {
    shown.push_back(printed(condition, kCondition));
  }
  return json::print(shown);
}

std::optional<Value> read_conditions(const Value& document) {
  return read_list(
      document, "autoscaling.v2.HorizontalPodAutoscalerCondition",
      [](const Value& item) -> std::optional<Value> { return renamed(item, kCondition); });
}

}  // namespace

const AutoscalerText kMetricsText = {.print = &print_metrics, .read = &read_metrics};
const AutoscalerText kCurrentMetricsText = {.print = &print_current, .read = &read_current};
const AutoscalerText kBehaviorText = {.print = &print_behavior, .read = &read_behavior};
const AutoscalerText kConditionsText = {.print = &print_conditions, .read = &read_conditions};

}  // namespace athanor::apiserver
