// SPDX-License-Identifier: Apache-2.0
#include "systems/das/model/ownership.hpp"

#include <fmt/core.h>

#include <charconv>
#include <map>
#include <optional>
#include <system_error>

namespace athanor::das {
namespace {

std::optional<AllocationApi> api_of(std::string_view text) {
  if (text == "deviceplugin") {
    return AllocationApi::DevicePlugin;
  }
  return text == "dra" ? std::optional(AllocationApi::Dra) : std::nullopt;
}

Error bad(std::string_view annotation, std::string_view why) {
  return Error::bad_request(
      fmt::format("invalid {} \"{}\": {}", kAllocationApiAnnotation, annotation, why));
}

constexpr std::string_view kForm = "must be deviceplugin, dra or a list of INDEX=API";

}  // namespace

std::string_view name_of(AllocationApi api) {
  return api == AllocationApi::Dra ? "dra" : "deviceplugin";
}

Result<std::vector<AllocationApi>> wanted_apis(std::string_view setting,
                                               std::string_view annotation, std::size_t gpus) {
  std::vector<AllocationApi> apis(gpus, api_of(setting).value_or(AllocationApi::DevicePlugin));
  if (setting != "both") {
    if (!annotation.empty() && annotation != setting) {
      return bad(annotation, fmt::format("the allocation API is {}", setting));
    }
    return apis;
  }
  for (std::size_t i = (gpus + 1) / 2; i < gpus; ++i) {
    apis[i] = AllocationApi::Dra;
  }
  if (annotation.empty()) {
    return apis;
  }
  if (const auto all = api_of(annotation)) {
    return std::vector<AllocationApi>(gpus, *all);
  }
  std::string_view rest = annotation;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      return bad(annotation, kForm);
    }
    std::size_t index = 0;
    const char* const end = entry.data() + equals;
    const auto [stop, error] = std::from_chars(entry.data(), end, index);
    const auto api = api_of(entry.substr(equals + 1));
    if (error != std::errc() || stop != end || !api) {
      return bad(annotation, kForm);
    }
    if (index >= gpus) {
      return bad(annotation, fmt::format("there is no GPU {}", index));
    }
    apis[index] = *api;
  }
  return apis;
}

std::vector<AllocationApi> apis_of(const Value& node_resources) {
  std::vector<AllocationApi> apis;
  for (const Value& gpu : node_resources["nodeGpus"].items()) {
    apis.push_back(
        api_of(gpu[kAllocationApiMember].as_string()).value_or(AllocationApi::DevicePlugin));
  }
  return apis;
}

Result<void> assign_apis(Value& resources, const Value& before, std::string_view setting,
                         std::string_view annotation,
                         const std::set<std::string, std::less<>>& used) {
  const std::size_t count = resources["nodeGpus"].size();
  auto wanted = wanted_apis(setting, annotation, count);
  std::map<std::string, std::string, std::less<>> known;
  for (const Value& gpu : before["nodeGpus"].items()) {
    if (!gpu[kAllocationApiMember].as_string().empty()) {
      known[gpu["gpuUuid"].str()] = gpu[kAllocationApiMember].str();
    }
  }
  auto apis = wanted.ok() ? *wanted : *wanted_apis(setting, {}, count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view uuid = resources["nodeGpus"][i]["gpuUuid"].as_string();
    const auto was = known.find(uuid);
    if (was != known.end() && (!wanted.ok() || used.contains(uuid))) {
      apis[i] = api_of(was->second).value_or(apis[i]);
    }
  }
  set_apis(resources, apis);
  return wanted.ok() ? Result<void>() : std::move(wanted).error();
}

void set_apis(Value& node_resources, const std::vector<AllocationApi>& apis) {
  Value& gpus = node_resources.member("nodeGpus");
  for (std::size_t i = 0; i < gpus.size() && i < apis.size(); ++i) {
    gpus.item(i).set(kAllocationApiMember, name_of(apis[i]));
  }
}

}  // namespace athanor::das
