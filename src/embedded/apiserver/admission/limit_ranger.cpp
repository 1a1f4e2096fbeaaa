// SPDX-License-Identifier: Apache-2.0
// LimitRanges: what containers get that ask for nothing, and between what bounds containers, pods
// and claims must stay (docs/spec/apiserver.md 15.1).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "embedded/apiserver/admission/pod_amounts.hpp"
#include "embedded/apiserver/admission/steps.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kAnnotation = "kubernetes.io/limit-ranger";

std::vector<store::StoredPtr> ranges_of(const AdmissionAttributes& request,
                                        const AdmissionContext& context) {
  auto page = context.store.list("limitranges", {.ns = request.key.ns});
  return page.ok() ? std::move(page->items) : std::vector<store::StoredPtr>();
}

// ---- defaults

// The amounts of `defaults` that the container lacks; returns their names.
std::set<std::string> fill(Value& container, std::string_view list, const Value& defaults) {
  std::set<std::string> names;
  for (const Member& amount : defaults.members()) {
    if (!container["resources"][list].contains(amount.key())) {
      container.member("resources").member(list).set(amount.key(), amount.value);
      names.emplace(amount.key());
    }
  }
  return names;
}

void fill_container(Value& container, const Value& limit, std::string_view what,
                    std::vector<std::string>& notes) {
  const std::set<std::string> limits = fill(container, "limits", limit["default"]);
  const std::set<std::string> requests = fill(container, "requests", limit["defaultRequest"]);
  const std::string name = container["name"].str();
  if (!requests.empty()) {
    notes.push_back(fmt::format("{} request for {} {}", fmt::join(requests, ", "), what, name));
  }
  if (!limits.empty()) {
    notes.push_back(fmt::format("{} limit for {} {}", fmt::join(limits, ", "), what, name));
  }
}

StatusResult<void> apply_limits(AdmissionAttributes& request, const AdmissionContext& context) {
  if (!creates(request, "", "pods")) {
    return {};
  }
  std::vector<std::string> notes;
  for (const store::StoredPtr& range : ranges_of(request, context)) {
    for (const Value& limit : range->body["spec"]["limits"].items()) {
      if (limit["type"].as_string() != "Container") {
        continue;
      }
      Value& spec = request.object.member("spec");
      for (std::size_t i = 0; i < spec["containers"].size(); ++i) {
        fill_container(spec.member("containers").item(i), limit, "container", notes);
      }
      for (std::size_t i = 0; i < spec["initContainers"].size(); ++i) {
        fill_container(spec.member("initContainers").item(i), limit, "init container", notes);
      }
    }
  }
  if (!notes.empty()) {
    request.object.member("metadata")
        .member("annotations")
        .set(kAnnotation, fmt::format("LimitRanger plugin set: {}", fmt::join(notes, "; ")));
  }
  return {};
}

// ---- bounds

// What one container, pod or claim asks for.
struct Subject {
  std::string type{};  // of the limit
  Amounts requests{};
  Amounts limits{};
  bool has_limits = true;  // claims have none
};

const Quantity* find(const Amounts& amounts, std::string_view name) {
  const auto entry = amounts.find(name);
  return entry == amounts.end() ? nullptr : &entry->second;
}

std::string min_error(const Subject& subject, std::string_view name, const Quantity& bound) {
  const Quantity* request = find(subject.requests, name);
  const Quantity* limit = find(subject.limits, name);
  const std::string head =
      fmt::format("minimum {} usage per {} is {}", name, subject.type, bound.text());
  if (request == nullptr) {
    return head + ".  No request is specified";
  }
  if (*request < bound) {
    return fmt::format("{}, but request is {}", head, request->text());
  }
  return limit != nullptr && *limit < bound
             ? fmt::format("{}, but limit is {}", head, limit->text())
             : "";
}

std::string max_error(const Subject& subject, std::string_view name, const Quantity& bound) {
  const Quantity* request = find(subject.requests, name);
  const Quantity* limit = find(subject.limits, name);
  const std::string head =
      fmt::format("maximum {} usage per {} is {}", name, subject.type, bound.text());
  if (subject.has_limits && limit == nullptr) {
    return head + ".  No limit is specified";
  }
  if (limit != nullptr && *limit > bound) {
    return fmt::format("{}, but limit is {}", head, limit->text());
  }
  return request != nullptr && *request > bound
             ? fmt::format("{}, but request is {}", head, request->text())
             : "";
}

std::string ratio_error(const Subject& subject, std::string_view name, const Quantity& bound) {
  const Quantity* request = find(subject.requests, name);
  const Quantity* limit = find(subject.limits, name);
  const std::string head =
      fmt::format("{} max limit to request ratio per {} is {}", name, subject.type, bound.text());
  if (request == nullptr || request->is_zero()) {
    return head + ", but no request is specified or request is 0";
  }
  if (limit == nullptr || limit->is_zero()) {
    return head + ", but no limit is specified or limit is 0";
  }
  const double ratio =
      static_cast<double>(limit->milli_value()) / static_cast<double>(request->milli_value());
  return ratio * 1000 > static_cast<double>(bound.milli_value())
             ? fmt::format("{}, but provided ratio is {:.6f}", head, ratio)
             : "";
}

void check_subject(const Subject& subject, const Value& limit, std::vector<std::string>& errors) {
  using Rule = std::string (*)(const Subject&, std::string_view, const Quantity&);
  const std::pair<std::string_view, Rule> rules[] = {
      {"min", &min_error}, {"max", &max_error}, {"maxLimitRequestRatio", &ratio_error}};
  for (const auto& [list, rule] : rules) {
    std::map<std::string, Quantity> bounds;
    for (const Member& amount : limit[list].members()) {
      if (const auto quantity = Quantity::parse(amount.value)) {
        bounds.emplace(amount.key(), *quantity);
      }
    }
    for (const auto& [name, bound] : bounds) {
      std::string error = rule(subject, name, bound);
      if (!error.empty() && std::find(errors.begin(), errors.end(), error) == errors.end()) {
        errors.push_back(std::move(error));
      }
    }
  }
}

Amounts amounts_of(const Value& list) {
  Amounts amounts;
  for (const Member& amount : list.members()) {
    if (const auto quantity = Quantity::parse(amount.value)) {
      amounts.emplace(amount.key(), *quantity);
    }
  }
  return amounts;
}

std::vector<std::string> pod_errors(const Value& spec, const Value& range) {
  std::vector<std::string> errors;
  for (const Value& limit : range["spec"]["limits"].items()) {
    const std::string type = limit["type"].str();
    if (type == "Container") {
      for (const std::string_view list : {"containers", "initContainers"}) {
        for (const Value& container : spec[list].items()) {
          check_subject({.type = type,
                         .requests = amounts_of(container["resources"]["requests"]),
                         .limits = amounts_of(container["resources"]["limits"])},
                        limit, errors);
        }
      }
    } else if (type == "Pod") {
      check_subject({.type = type,
                     .requests = pod_amounts(spec, "requests"),
                     .limits = pod_amounts(spec, "limits")},
                    limit, errors);
    }
  }
  return errors;
}

std::vector<std::string> claim_errors(const Value& spec, const Value& range) {
  std::vector<std::string> errors;
  for (const Value& limit : range["spec"]["limits"].items()) {
    if (limit["type"].as_string() == "PersistentVolumeClaim") {
      check_subject({.type = limit["type"].str(),
                     .requests = amounts_of(spec["resources"]["requests"]),
                     .limits = {},
                     .has_limits = false},
                    limit, errors);
    }
  }
  return errors;
}

StatusResult<void> validate_limits(AdmissionAttributes& request, const AdmissionContext& context) {
  const bool resize = request.operation == Operation::Update &&
                      request.resource->storage == "pods" && request.subresource == "resize";
  const bool pod = resize || creates(request, "", "pods");
  if (!pod && !is_main_write(request, "", "persistentvolumeclaims")) {
    return {};
  }
  for (const store::StoredPtr& range : ranges_of(request, context)) {
    const Value& spec = request.object["spec"];
    const std::vector<std::string> errors =
        pod ? pod_errors(spec, range->body) : claim_errors(spec, range->body);
    if (!errors.empty()) {
      return refuse(request, errors.size() == 1 ? errors.front()
                                                : fmt::format("[{}]", fmt::join(errors, ", ")));
    }
  }
  return {};
}

}  // namespace

AdmissionStep limit_ranger_step() {
  return {.name = "LimitRanger", .mutate = &apply_limits, .validate = &validate_limits};
}

}  // namespace athanor::apiserver
