// SPDX-License-Identifier: Apache-2.0
// Dynamic resource allocation: claims, classes, slices (docs/spec/apiserver.md 14).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "cel/program.hpp"
#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::size_t kMaxDevices = 128;
constexpr std::size_t kMaxSharingDevices = 64;  // where one has taints or consumes counters
constexpr std::size_t kMaxCounterSets = 8;
constexpr std::size_t kMaxCounters = 32;     // of a set
constexpr std::size_t kMaxConsumptions = 2;  // counter sets that one device uses
constexpr std::size_t kMaxAttributes = 32;   // with the capacities
constexpr std::size_t kMaxIdentifier = 32;
constexpr std::int64_t kMaxPoolName = 253;
constexpr std::int64_t kMaxDriver = 63;
constexpr std::int64_t kMaxAttribute = 64;  // bytes of a text
constexpr std::size_t kMaxRequests = 32;
constexpr std::size_t kMaxChoices = 8;  // of a request
constexpr std::size_t kMaxConstraints = 32;
constexpr std::size_t kMaxSelectors = 32;                      // of a class or a request
constexpr std::size_t kMaxExpression = std::size_t{10} << 10;  // bytes

void default_request(Value& request) {
  const auto fill = [](Value& exact) {
    default_to(exact, "allocationMode", "ExactCount");
    if (exact["allocationMode"].as_string() == "ExactCount") {
      default_to(exact, "count", 1);
    }
  };
  if (request["exactly"].is_object()) {
    edit_member(request, "exactly", fill);
  }
  edit_items(request, "firstAvailable", fill);
}

void default_claim_spec(Value& spec) {
  if (!spec["devices"]["requests"].empty()) {
    edit_member(spec, "devices",
                [](Value& devices) { edit_items(devices, "requests", default_request); });
  }
}

void default_device_claim(Value& object, const KindContext& /*context*/) {
  if (object["spec"].is_object()) {
    edit_member(object, "spec", default_claim_spec);
  }
}

void default_claim_template(Value& object, const KindContext& /*context*/) {
  if (object["spec"]["spec"].is_object()) {
    edit_member(object, "spec", [](Value& spec) { edit_member(spec, "spec", default_claim_spec); });
  }
}

// An expression over `device` that says whether it is wanted.
void check_device_expression(FieldErrors& errors, const std::string& path,
                             std::string_view expression) {
  if (expression.size() > kMaxExpression) {
    errors.push_back(FieldError::too_long(path, static_cast<std::int64_t>(kMaxExpression)));
    return;  // not worth compiling
  }
  const auto program =
      cel::Program::compile(expression, {{"device", cel::simple_type(cel::TypeKind::Dyn)}});
  if (!program.ok()) {
    errors.push_back(
        FieldError::invalid(path, expression, "compilation failed: " + program.error().message));
    return;
  }
  const cel::Type& type = (*program)->result_type();
  if (type.kind != cel::TypeKind::Bool && type.kind != cel::TypeKind::Dyn) {
    errors.push_back(FieldError::invalid(
        path, expression,
        fmt::format("must evaluate to bool or the unknown type, not {}", cel::type_text(type))));
  }
}

void check_too_many(FieldErrors& errors, const std::string& path, std::size_t size,
                    std::size_t most) {
  if (size > most) {
    errors.push_back(FieldError::too_many(path, static_cast<std::int64_t>(size),
                                          static_cast<std::int64_t>(most)));
  }
}

void check_selectors(FieldErrors& errors, const std::string& path, const Value& selectors) {
  check_too_many(errors, path, selectors.size(), kMaxSelectors);
  for (std::size_t i = 0; i < std::min(selectors.size(), kMaxSelectors); ++i) {
    const std::string here = at(path, i) + ".cel";
    const Value& cel = selectors[i]["cel"];
    if (!cel.is_object()) {
      errors.push_back(FieldError::required(here));
    } else {
      check_device_expression(errors, here + ".expression", cel["expression"].as_string());
    }
  }
}

void check_device_claim_spec(FieldErrors& errors, const Value& spec, const std::string& path) {
  std::set<std::string> names;
  const Value& requests = spec["devices"]["requests"];
  check_too_many(errors, path + ".devices.requests", requests.size(), kMaxRequests);
  check_too_many(errors, path + ".devices.constraints", spec["devices"]["constraints"].size(),
                 kMaxConstraints);
  for (std::size_t i = 0; i < std::min(requests.size(), kMaxRequests); ++i) {
    const std::string here = at(path + ".devices.requests", i);
    const Value& request = requests[i];
    check_name(errors, here + ".name", request["name"].as_string(), &validate_dns1123_label);
    if (!names.insert(request["name"].str()).second) {
      errors.push_back(FieldError::duplicate(here, request["name"]));
    }
    const bool exactly = !request["exactly"].is_null();
    if (exactly == !request["firstAvailable"].empty()) {
      errors.push_back(
          FieldError::required(here, "exactly one of `exactly` or `firstAvailable` is required"));
    }
    if (exactly) {
      const Value& exact = request["exactly"];
      require_name(errors, here + ".exactly.deviceClassName", exact["deviceClassName"].as_string(),
                   &validate_dns1123_subdomain);
      check_selectors(errors, here + ".exactly.selectors", exact["selectors"]);
      check_choice(errors, here + ".exactly.allocationMode", exact["allocationMode"],
                   {"All", "ExactCount"});
      if (exact["allocationMode"].as_string() == "ExactCount" && exact["count"].as_int() <= 0) {
        errors.push_back(FieldError::invalid(here + ".exactly.count", exact["count"].as_int(),
                                             "must be greater than zero"));
      }
    }
    const Value& choices = request["firstAvailable"];
    check_too_many(errors, here + ".firstAvailable", choices.size(), kMaxChoices);
    for (std::size_t k = 0; k < std::min(choices.size(), kMaxChoices); ++k) {
      check_selectors(errors, at(here + ".firstAvailable", k) + ".selectors",
                      choices[k]["selectors"]);
    }
  }
}

// Access beside the owner of a device is for namespaces that their administrator has marked.
void check_admin_access(FieldErrors& errors, const Value& object, const Value& claim_spec,
                        const KindContext& context) {
  constexpr std::string_view kAdminLabel = "resource.kubernetes.io/admin-access";
  const Value& requests = claim_spec["devices"]["requests"];
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i]["exactly"]["adminAccess"].as_bool()) {
      continue;
    }
    const store::StoredPtr ns =
        context.store.get("namespaces", {"", object["metadata"]["namespace"].str()});
    if (ns == nullptr || ns->body["metadata"]["labels"][kAdminLabel].as_string() != "true") {
      errors.push_back(FieldError::forbidden(
          at("spec.devices.requests", i) + ".adminAccess",
          fmt::format("admin access to devices requires the `{}: true` label on the containing "
                      "namespace",
                      kAdminLabel)));
    }
    return;
  }
}

FieldErrors validate_device_claim(const Value& object, const KindContext& context) {
  FieldErrors errors;
  check_admin_access(errors, object, object["spec"], context);
  check_device_claim_spec(errors, object["spec"], "spec");
  return errors;
}

FieldErrors validate_device_claim_update(const Value& object, const Value& old_object,
                                         const KindContext& /*context*/) {
  FieldErrors errors;
  check_unchanged(errors, "spec", object["spec"], old_object["spec"]);
  return errors;
}

FieldErrors validate_claim_template(const Value& object, const KindContext& context) {
  FieldErrors errors;
  check_admin_access(errors, object, object["spec"]["spec"], context);
  check_device_claim_spec(errors, object["spec"]["spec"], "spec.spec");
  return errors;
}

bool is_c_identifier(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && is_letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// "[domain/]identifier".
void check_attribute_name(FieldErrors& errors, const std::string& path, std::string_view name) {
  const std::size_t slash = name.find('/');
  std::string_view identifier = name;
  if (slash != std::string_view::npos) {
    check_name(errors, path, name.substr(0, slash), &validate_dns1123_subdomain);
    identifier = name.substr(slash + 1);
  }
  if (identifier.size() > kMaxIdentifier) {
    errors.push_back(FieldError::too_long(path, static_cast<std::int64_t>(kMaxIdentifier)));
  } else if (!is_c_identifier(identifier)) {
    errors.push_back(FieldError::invalid(
        path, identifier,
        "a valid C identifier must start with alphabetic character or '_', followed by a string "
        "of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex "
        "used for validation is '[A-Za-z_][A-Za-z0-9_]*')"));
  }
}

void check_counters(FieldErrors& errors, const Value& counters, const std::string& path) {
  if (counters.empty()) {
    errors.push_back(FieldError::required(path));
  }
  check_too_many(errors, path, counters.size(), kMaxCounters);
  for (const Member& counter : counters.members()) {
    check_name(errors, at(path, counter.key()), counter.key(), &validate_dns1123_label);
  }
}

// Amounts that partitions of one device share.
void check_counter_sets(FieldErrors& errors, const Value& sets, const std::string& path) {
  check_too_many(errors, path, sets.size(), kMaxCounterSets);
  std::set<std::string> names;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::string here = at(path, i);
    require_name(errors, here + ".name", sets[i]["name"].as_string(), &validate_dns1123_label);
    if (!names.insert(sets[i]["name"].str()).second) {
      errors.push_back(FieldError::duplicate(here, sets[i]["name"]));
    }
    check_counters(errors, sets[i]["counters"], here + ".counters");
  }
}

void check_consumption(FieldErrors& errors, const Value& uses, const std::string& path) {
  check_too_many(errors, path, uses.size(), kMaxConsumptions);
  std::set<std::string> names;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const std::string here = at(path, i);
    require_name(errors, here + ".counterSet", uses[i]["counterSet"].as_string(),
                 &validate_dns1123_label);
    if (!names.insert(uses[i]["counterSet"].str()).second) {
      errors.push_back(FieldError::duplicate(here, uses[i]["counterSet"]));
    }
    check_counters(errors, uses[i]["counters"], here + ".counters");
  }
}

void check_device(FieldErrors& errors, const Value& device, const std::string& path) {
  check_consumption(errors, device["consumesCounters"], path + ".consumesCounters");
  const std::size_t properties = device["attributes"].size() + device["capacity"].size();
  if (properties > kMaxAttributes) {
    errors.push_back(FieldError::invalid(
        path, static_cast<std::int64_t>(properties),
        fmt::format("the total number of attributes and capacities must not exceed {}",
                    kMaxAttributes)));
  }
  for (const Member& attribute : device["attributes"].members()) {
    const std::string here = at(path + ".attributes", attribute.key());
    check_attribute_name(errors, here, attribute.key());
    if (attribute.value.size() != 1) {
      errors.push_back(FieldError::invalid(here,
                                           attribute.value.empty() ? Value("") : attribute.value,
                                           "exactly one value must be specified"));
    }
    if (const Value& text = attribute.value["string"];
        static_cast<std::int64_t>(text.as_string().size()) > kMaxAttribute) {
      errors.push_back(FieldError::too_long(here + ".string", kMaxAttribute));
    }
  }
  for (const Member& capacity : device["capacity"].members()) {
    const std::string here = at(path + ".capacity", capacity.key());
    check_attribute_name(errors, here, capacity.key());
  }
}

void check_pool(FieldErrors& errors, const Value& pool) {
  std::string_view name = pool["name"].as_string();
  if (name.empty()) {
    errors.push_back(FieldError::required("spec.pool.name"));
  }
  if (static_cast<std::int64_t>(name.size()) > kMaxPoolName) {
    errors.push_back(FieldError::too_long("spec.pool.name", kMaxPoolName));
  }
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('/'), name.size());
    check_name(errors, "spec.pool.name", name.substr(0, end), &validate_dns1123_subdomain);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  if (pool["resourceSliceCount"].as_int() <= 0) {
    errors.push_back(FieldError::invalid("spec.pool.resourceSliceCount",
                                         pool["resourceSliceCount"].as_int(),
                                         "must be greater than zero"));
  }
  if (pool["generation"].as_int() < 0) {
    errors.push_back(FieldError::invalid("spec.pool.generation", pool["generation"],
                                         "must be greater than or equal to zero"));
  }
}

// Checks that a slice says in one way from where its devices can be reached.
void check_places(FieldErrors& errors, const Value& spec) {
  std::vector<std::string> places;
  const Value& node = spec["nodeName"];
  if (!node.is_null()) {
    if (node.as_string().empty()) {
      errors.push_back(FieldError::invalid("spec.nodeName", node,
                                           "must be either unset or set to a non-empty string"));
    } else {
      places.emplace_back("`nodeName`");
      check_name(errors, "spec.nodeName", node.as_string(), &validate_dns1123_subdomain);
    }
  }
  if (spec["nodeSelector"].is_object()) {
    places.emplace_back("`nodeSelector`");
    check_node_selector(errors, "spec.nodeSelector", spec["nodeSelector"]);
    const Value& terms = spec["nodeSelector"]["nodeSelectorTerms"];
    if (terms.size() != 1) {
      errors.push_back(FieldError::invalid("spec.nodeSelector.nodeSelectorTerms", terms,
                                           "must have exactly one node selector term"));
    }
  }
  for (const std::string_view flag : {"allNodes", "perDeviceNodeSelection"}) {
    if (spec[flag].is_null()) {
      continue;
    }
    if (spec[flag].as_bool()) {
      places.push_back(fmt::format("`{}`", flag));
    } else {
      errors.push_back(FieldError::invalid(below("spec", flag), spec[flag],
                                           "must be either unset or set to true"));
    }
  }
  constexpr std::string_view kPlaces =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (places.empty()) {
    errors.push_back(FieldError::required("spec", kPlaces));
  } else if (places.size() > 1) {
    errors.push_back(FieldError::invalid("spec", fmt::format("{{{}}}", join(places, ", ")),
                                         fmt::format("{}, but multiple fields are set", kPlaces)));
  }
}

FieldErrors validate_slice(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  check_places(errors, spec);
  if (const std::string_view driver = spec["driver"].as_string(); !driver.empty()) {
    if (static_cast<std::int64_t>(driver.size()) > kMaxDriver) {
      errors.push_back(FieldError::too_long("spec.driver", kMaxDriver));
    }
    check_name(errors, "spec.driver", driver, &validate_dns1123_subdomain);
  } else {
    errors.push_back(FieldError::required("spec.driver"));
  }
  check_pool(errors, spec["pool"]);
  const Value& devices = spec["devices"];
  if (!spec["sharedCounters"].is_null() && !devices.is_null()) {
    errors.push_back(
        FieldError::invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"));
  }
  const bool sharing = std::ranges::any_of(devices.items(), [](const Value& device) {
    return !device["taints"].empty() || !device["consumesCounters"].empty();
  });
  check_too_many(errors, "spec.devices", devices.size(),
                 sharing ? kMaxSharingDevices : kMaxDevices);
  check_counter_sets(errors, spec["sharedCounters"], "spec.sharedCounters");
  std::set<std::string> names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string here = at("spec.devices", i);
    check_name(errors, here + ".name", devices[i]["name"].as_string(), &validate_dns1123_label);
    if (!names.insert(devices[i]["name"].str()).second) {
      errors.push_back(FieldError::duplicate(here, devices[i]["name"]));
    }
    check_device(errors, devices[i], here);
  }
  return errors;
}

FieldErrors validate_slice_update(const Value& object, const Value& old_object,
                                  const KindContext& context) {
  FieldErrors errors = validate_slice(object, context);
  const Value& spec = object["spec"];
  const Value& old_spec = old_object["spec"];
  check_unchanged(errors, "spec.driver", spec["driver"], old_spec["driver"]);
  check_unchanged(errors, "spec.nodeName", spec["nodeName"], old_spec["nodeName"]);
  check_unchanged(errors, "spec.pool.name", spec["pool"]["name"], old_spec["pool"]["name"]);
  return errors;
}

FieldErrors validate_device_class(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_selectors(errors, "spec.selectors", object["spec"]["selectors"]);
  return errors;
}

FieldErrors validate_device_class_update(const Value& object, const Value& /*old_object*/,
                                         const KindContext& context) {
  return validate_device_class(object, context);
}

Cells device_claim_cells(const Value& object, Instant now) {
  const Value& status = object["status"];
  std::vector<std::string> states;
  if (object["metadata"].contains("deletionTimestamp")) {
    states.emplace_back("deleted");
  }
  if (status["allocation"].is_null()) {
    if (states.empty()) {
      states.emplace_back("pending");
    }
  } else {
    states.emplace_back("allocated");
    if (!status["reservedFor"].empty()) {
      states.emplace_back("reserved");
    }
  }
  return {name_cell(object), join(states, ","), age_cell(object, now)};
}

Cells device_name_and_age(const Value& object, Instant now) {
  return {name_cell(object), age_cell(object, now)};
}

Cells slice_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  return {name_cell(object), text_cell(spec["nodeName"], kUnset), spec["driver"].str(),
          spec["pool"]["name"].str(), age_cell(object, now)};
}

constexpr std::string_view kDeviceGroup = "resource.k8s.io";

constexpr std::array kDeviceRows = {
    KindRow{.group = kDeviceGroup,
            .plural = "resourceclaims",
            .behaviour = {.apply_defaults = &default_device_claim,
                          .validate_create = &validate_device_claim,
                          .validate_update = &validate_device_claim_update,
                          .cells = &device_claim_cells}},
    KindRow{.group = kDeviceGroup,
            .plural = "resourceclaimtemplates",
            .behaviour = {.apply_defaults = &default_claim_template,
                          .validate_create = &validate_claim_template,
                          .validate_update = &validate_device_claim_update,
                          .cells = &device_name_and_age}},
    KindRow{.group = kDeviceGroup,
            .plural = "resourceslices",
            .behaviour = {.validate_create = &validate_slice,
                          .validate_update = &validate_slice_update,
                          .cells = &slice_cells}},
    KindRow{.group = kDeviceGroup,
            .plural = "deviceclasses",
            .behaviour = {.validate_create = &validate_device_class,
                          .validate_update = &validate_device_class_update,
                          .cells = &device_name_and_age}},
};

}  // namespace

std::span<const KindRow> device_rows() {
  return kDeviceRows;
}

}  // namespace athanor::apiserver
