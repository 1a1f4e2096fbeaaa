// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/setting_variables.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

#include "base/environment.hpp"
#include "base/time.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton {
namespace {

constexpr std::int64_t kMostResultSize = 1 << 20;
constexpr std::int64_t kMostMinutes = 366LL * 24 * 60;
constexpr std::int64_t kMostCombinations = 100'000;

constexpr std::string_view kProfile = "TEKTON_RUN_PROFILE";
constexpr std::string_view kResultSize = "TEKTON_MAX_RESULT_SIZE";
constexpr std::string_view kStartupGrace = "TEKTON_STARTUP_GRACE";
constexpr std::string_view kEntrypoints = "TEKTON_IMAGE_ENTRYPOINTS";
constexpr std::string_view kTimeoutMinutes = "TEKTON_DEFAULT_TIMEOUT_MINUTES";
constexpr std::string_view kServiceAccount = "TEKTON_DEFAULT_SERVICE_ACCOUNT";
constexpr std::string_view kManagedBy = "TEKTON_DEFAULT_MANAGED_BY_LABEL_VALUE";
constexpr std::string_view kPodTemplate = "TEKTON_DEFAULT_POD_TEMPLATE";
constexpr std::string_view kResolver = "TEKTON_DEFAULT_RESOLVER_TYPE";
constexpr std::string_view kHubUrl = "TEKTON_HUB_URL";
constexpr std::string_view kBundleFolder = "TEKTON_BUNDLES";
constexpr std::string_view kGitFolder = "TEKTON_GIT_FOLDER";
constexpr std::string_view kCombinations = "TEKTON_DEFAULT_MAX_MATRIX_COMBINATIONS_COUNT";

constexpr std::string_view kNames[] = {
    kProfile,        kResultSize,   kStartupGrace, kEntrypoints, kTimeoutMinutes,
    kServiceAccount, kManagedBy,    kPodTemplate,  kResolver,    kCombinations,
    kHubUrl,         kBundleFolder, kGitFolder};

// A whole number from `least` to `most`; Null when the variable is not set.
Result<Value> number(const Environment& variables, std::string_view name, std::int64_t least,
                     std::int64_t most) {
  const std::string* text = variables.find(name);
  if (text == nullptr) {
    return Value();
  }
  std::int64_t value = 0;
  const char* last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, value);
  if (error != std::errc{} || end != last || value < least || value > most) {
    return refuse_setting(
        name, *text,
        "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return Value(value);
}

Result<void> read_profile(const Environment& variables, Value& section) {
  const std::string* profile = variables.find(kProfile);
  if (profile == nullptr) {
    return {};
  }
  if (*profile != "v1.9" && *profile != "current") {
    return refuse_setting(kProfile, *profile, "must be v1.9 or current");
  }
  section.set_path({"run", "profile"}, *profile);
  return {};
}

Result<void> read_grace(const Environment& variables, Value& section) {
  const std::string* grace = variables.find(kStartupGrace);
  if (grace == nullptr) {
    return {};
  }
  const auto duration = parse_go_duration(*grace);
  if (!duration || *duration < Duration::zero()) {
    return refuse_setting(kStartupGrace, *grace, "must be a duration of 0s or more, as 30s");
  }
  section.set_path({"run", "startupGrace"}, *grace);
  return {};
}

bool are_words(const Value& list) {
  return list.is_list() && !list.empty() &&
         std::ranges::all_of(list.items(), [](const Value& word) { return word.is_string(); });
}

// "{example/tool: [tool, --quiet]}".
Result<void> read_entrypoints(const Environment& variables, Value& section) {
  const std::string* text = variables.find(kEntrypoints);
  if (text == nullptr) {
    return {};
  }
  auto map = yaml::parse(*text);
  if (!map || !map->is_object() || !std::ranges::all_of(map->members(), [](const Member& image) {
        return are_words(image.value);
      })) {
    return refuse_setting(kEntrypoints, *text,
                          "must be a YAML map of image names to commands, as {tool: [tool, -q]}");
  }
  section.set_path({"run", "imageEntrypoints"}, *std::move(map));
  return {};
}

Result<void> read_pod_template(const Environment& variables, Value& section) {
  const std::string* text = variables.find(kPodTemplate);
  if (text == nullptr) {
    return {};
  }
  const auto parsed = yaml::parse(*text);
  if (!parsed || !parsed->is_object()) {
    return refuse_setting(kPodTemplate, *text, "must be a pod template in YAML");
  }
  section.set_path({"defaults", "default-pod-template"}, *text);
  return {};
}

Result<void> read_texts(const Environment& variables, Value& section) {
  constexpr std::pair<std::string_view, std::string_view> kTexts[] = {
      {kServiceAccount, "default-service-account"},
      {kManagedBy, "default-managed-by-label-value"},
      {kResolver, "default-resolver-type"}};
  for (const auto& [name, key] : kTexts) {
    if (const std::string* text = variables.find(name)) {
      section.set_path({"defaults", key}, *text);
    }
  }
  return {};
}

Result<void> read_hub(const Environment& variables, Value& section) {
  const std::string* url = variables.find(kHubUrl);
  if (url == nullptr) {
    return {};
  }
  if (!url->starts_with("https://") && !url->starts_with("http://")) {
    return refuse_setting(kHubUrl, *url, "must be an http(s) URL");
  }
  section.set_path({"run", "hubURL"}, *url);
  return {};
}

Result<void> read_folders(const Environment& variables, Value& section) {
  constexpr std::pair<std::string_view, std::string_view> kFolders[] = {{kBundleFolder, "bundles"},
                                                                        {kGitFolder, "gitFolder"}};
  for (const auto& [name, key] : kFolders) {
    const std::string* folder = variables.find(name);
    if (folder == nullptr) {
      continue;
    }
    if (!folder->starts_with('/')) {
      return refuse_setting(name, *folder, "must be the absolute path of a folder");
    }
    section.set_path({"run", key}, *folder);
  }
  return {};
}

Result<void> read_numbers(const Environment& variables, Value& section) {
  ATHANOR_TRY(Value size, number(variables, kResultSize, 1, kMostResultSize));
  if (!size.is_null()) {
    section.set_path({"run", "maxResultSize"}, std::move(size));
  }
  ATHANOR_TRY(const Value minutes, number(variables, kTimeoutMinutes, 0, kMostMinutes));
  if (!minutes.is_null()) {
    section.set_path({"defaults", "default-timeout-minutes"}, std::to_string(minutes.as_int()));
  }
  ATHANOR_TRY(const Value most, number(variables, kCombinations, 1, kMostCombinations));
  if (!most.is_null()) {
    section.set_path({"defaults", "default-max-matrix-combinations-count"},
                     std::to_string(most.as_int()));
  }
  return {};
}

}  // namespace

std::span<const std::string_view> setting_variables() {
  return kNames;
}

Result<Value> read_section(const SettingsSource& source) {
  const Environment variables(source.variables);
  Value section = Value::object();
  for (const auto read : {read_profile, read_grace, read_entrypoints, read_pod_template, read_texts,
                          read_hub, read_folders, read_numbers}) {
    ATHANOR_TRY_VOID(read(variables, section));
  }
  return section;
}

}  // namespace athanor::tekton
