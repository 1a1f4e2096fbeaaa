// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/limit_range_rules.hpp"

#include <fmt/format.h>

#include <set>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/resource_names.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::apiserver {
namespace {

// Two members of a limit that must be in order, and how the reference words that they are not.
struct Order {
  std::string_view low{};
  std::string_view high{};
  std::string_view field{};  // which member is at fault
  std::string_view value{};  // which member's amount is shown
  std::string_view low_told{};
  std::string_view high_told{};
};

constexpr Order kOrders[] = {
    {"min", "max", "min", "min", "min", "max"},
    {"min", "defaultRequest", "defaultRequest", "defaultRequest", "min", "default request"},
    {"defaultRequest", "max", "defaultRequest", "defaultRequest", "default request", "max"},
    {"defaultRequest", "default", "defaultRequest", "defaultRequest", "default request",
     "default limit"},
    {"min", "default", "default", "min", "min", "default"},
    {"default", "max", "default", "max", "default", "max"},
};

void check_type(FieldErrors& errors, const std::string& path, std::string_view type) {
  const std::size_t before = errors.size();
  check_name(errors, path, type, &validate_qualified_name);
  if (errors.size() == before && type.find('/') == std::string_view::npos &&
      !is_one_of(type, {"Pod", "Container", "PersistentVolumeClaim"})) {
    errors.push_back(
        FieldError::invalid(path, type, "must be a standard limit type or fully qualified"));
  }
}

void check_orders(FieldErrors& errors, const Value& limit, const std::string& path) {
  for (const Order& order : kOrders) {
    for (const Member& amount : limit[order.low].members()) {
      const auto least = Quantity::parse(amount.value);
      const Value& high = limit[order.high];
      const auto most = Quantity::parse(high[amount.key()]);
      if (!high.contains(amount.key()) || !least || !most || *least <= *most) {
        continue;
      }
      errors.push_back(
          FieldError::invalid(at(below(path, order.field), amount.key()),
                              (order.value == order.low ? least : most)->text(),
                              fmt::format("{} value {} is greater than {} value {}", order.low_told,
                                          least->text(), order.high_told, most->text())));
    }
  }
}

void check_ratios(FieldErrors& errors, const Value& limit, const std::string& path) {
  for (const Member& member : limit["maxLimitRequestRatio"].members()) {
    const std::string here = at(path + ".maxLimitRequestRatio", member.key());
    const auto ratio = Quantity::parse(member.value);
    if (!ratio) {
      continue;
    }
    if (ratio->milli_value() < 1000) {
      errors.push_back(FieldError::invalid(here, ratio->text(),
                                           fmt::format("ratio {} is less than 1", ratio->text())));
    }
    const auto least = Quantity::parse(limit["min"][member.key()]);
    const auto most = Quantity::parse(limit["max"][member.key()]);
    if (!least || !most || least->is_zero()) {
      continue;
    }
    const double bound =
        static_cast<double>(most->milli_value()) / static_cast<double>(least->milli_value());
    if (static_cast<double>(ratio->milli_value()) / 1000 > bound) {
      errors.push_back(FieldError::invalid(
          here, ratio->text(),
          fmt::format("ratio {} is greater than max/min = {:f}", ratio->text(), bound)));
    }
  }
}

// What cannot be overcommitted has one amount, not two.
void check_equal_defaults(FieldErrors& errors, const Value& limit, const std::string& path) {
  for (const Member& member : limit["default"].members()) {
    const std::string name(member.key());
    if (!is_extended_resource(name) && !name.starts_with("hugepages-")) {
      continue;
    }
    const auto amount = Quantity::parse(member.value);
    const auto request = Quantity::parse(limit["defaultRequest"][name]);
    if (amount && request && *amount != *request) {
      errors.push_back(FieldError::invalid(
          at(path + ".defaultRequest", name), request->text(),
          fmt::format("default value {} must equal to defaultRequest value {} in {}",
                      amount->text(), request->text(), name)));
    }
  }
}

void check_limit(FieldErrors& errors, const Value& limit, const std::string& path) {
  const std::string_view type = limit["type"].as_string();
  const bool of_pods = is_one_of(type, {"Pod", "Container"});
  for (const std::string_view list :
       {"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}) {
    if (type == "Pod" && list.starts_with("default")) {
      if (!limit[list].empty()) {
        errors.push_back(
            FieldError::forbidden(below(path, list), "may not be specified when `type` is 'Pod'"));
      }
      continue;
    }
    for (const Member& amount : limit[list].members()) {
      const std::string here = at(below(path, list), amount.key());
      if (of_pods) {
        check_container_resource(errors, here, amount.key());
      } else {
        check_resource_name(errors, here, amount.key());
      }
    }
  }
  if (type == "PersistentVolumeClaim" && !limit["min"].contains("storage") &&
      !limit["max"].contains("storage")) {
    errors.push_back(FieldError::required(
        path + ".limits",
        "either minimum or maximum storage value is required, but neither was provided"));
  }
  check_orders(errors, limit, path);
  check_ratios(errors, limit, path);
  check_equal_defaults(errors, limit, path);
}

}  // namespace

FieldErrors check_limits(const Value& limits) {
  FieldErrors errors;
  std::set<std::string> types;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::string here = at("spec.limits", i);
    const std::string type = limits[i]["type"].str();
    check_type(errors, here + ".type", type);
    if (!types.insert(type).second) {
      errors.push_back(FieldError::duplicate(here + ".type", type));
    }
    check_limit(errors, limits[i], here);
  }
  return errors;
}

}  // namespace athanor::apiserver
