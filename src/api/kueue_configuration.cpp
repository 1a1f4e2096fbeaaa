// SPDX-License-Identifier: Apache-2.0
// Field by field, as the table of docs/spec/kueue.md section 12 lists them.
#include "api/kueue_configuration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "api/kueue_gates.hpp"
#include "base/near_name.hpp"
#include "base/time.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::api::kueue {
namespace {

constexpr std::int64_t kMostSeconds = 366LL * 24 * 3600;

constexpr std::string_view kFrameworks[] = {
    "batch/job",         "jobset.x-k8s.io/jobset", "kubeflow.org/pytorchjob", kPodFramework,
    "ray.io/raycluster", "ray.io/rayjob",          kAppWrapperFramework};

// How a field is read.
enum class Form : std::uint8_t {
  Format,   // what the document is
  Absent,   // of parts that are not here; has no effect, as all of its group
  Missing,  // has no effect, though others of its group have
  QuotaCheck,
  Process,    // of the process, which takes it as flags when it starts; has no effect
  Namespace,  // where the ConfigMap is; another one has no effect
  Flag,
  Duration,
  Timeout,  // a duration; 0 stands for the default, as in Kueue
  Seconds,  // a whole number from 0
  Count,    // a whole number from 0
  Timestamp,
  Strategies,
  Frameworks,
  Texts,
  Transformations,
  Selector,
  Gates,
};
struct Field {
  std::string_view path{};
  Form form = Form::Format;
  std::string_view key{};  // of the section; empty: it has its effect elsewhere or none
};

// A path that ends in ".*" stands for all below.
constexpr Field kFields[] = {
    {"apiVersion"},
    {"kind"},
    {"health.*", Form::Process},
    {"webhook.*", Form::Process},
    {"visibility.*", Form::Process},
    {"visibilityServer.*", Form::Process},
    {"pprofBindAddress", Form::Process},
    {"leaderElection.*", Form::Process},
    {"internalCertManagement.*", Form::Process},
    {"tls.*", Form::Process},
    {"metrics.bindAddress", Form::Process},
    {"clientConnection.*", Form::Absent},
    {"controller.*", Form::Absent},
    {"multiKueue.*", Form::Absent},
    {"admissionFairSharing.*", Form::Absent},
    {"queueVisibility.*", Form::Absent},
    {"metrics.customLabels", Form::Missing},
    {"metrics.localQueueMetrics.*", Form::Missing},
    {"integrations.externalFrameworks", Form::Missing},
    {"integrations.labelKeysToCopy", Form::Missing},
    {"integrations.podOptions.*", Form::Missing},
    {"resources.deviceClassMappings", Form::Missing},
    {"resources.quotaCheckStrategy", Form::QuotaCheck, "quotaCheckStrategy"},
    {"namespace", Form::Namespace},
    {"metrics.enableClusterQueueResources", Form::Flag, "clusterQueueResourceMetrics"},
    {"manageJobsWithoutQueueName", Form::Flag, "integrations/manageJobsWithoutQueueName"},
    {"managedJobsNamespaceSelector", Form::Selector, "integrations/managedJobsNamespaceSelector"},
    {"integrations.frameworks", Form::Frameworks, "integrations/frameworks"},
    {"waitForPodsReady.enable", Form::Flag, "waitForPodsReady"},
    {"waitForPodsReady.timeout", Form::Timeout, "podsReadyTimeout"},
    {"waitForPodsReady.recoveryTimeout", Form::Duration, "podsReadyRecoveryTimeout"},
    {"waitForPodsReady.blockAdmission", Form::Flag, "blockAdmission"},
    {"waitForPodsReady.requeuingStrategy.timestamp", Form::Timestamp, "requeueTimestamp"},
    {"waitForPodsReady.requeuingStrategy.backoffLimitCount", Form::Count,
     "requeueBackoffLimitCount"},
    {"waitForPodsReady.requeuingStrategy.backoffBaseSeconds", Form::Seconds,
     "requeueBackoffBaseSeconds"},
    {"waitForPodsReady.requeuingStrategy.backoffMaxSeconds", Form::Seconds,
     "requeueBackoffMaxSeconds"},
    {"fairSharing.enable", Form::Flag, "fairSharing"},
    {"fairSharing.preemptionStrategies", Form::Strategies, "preemptionStrategies"},
    {"resources.excludeResourcePrefixes", Form::Texts, "excludeResourcePrefixes"},
    {"resources.transformations", Form::Transformations, "resourceTransformations"},
    {"objectRetentionPolicies.workloads.afterFinished", Form::Duration, "retentionAfterFinished"},
    {"objectRetentionPolicies.workloads.afterDeactivatedByKueue", Form::Duration,
     "retentionAfterDeactivated"},
    {"featureGates", Form::Gates},
};

const Field* find_field(std::string_view path) {
  const auto* const found = std::ranges::find_if(kFields, [&](const Field& field) {
    return field.path == path || (field.path.ends_with(".*") &&
                                  (path == field.path.substr(0, field.path.size() - 2) ||
                                   path.starts_with(field.path.substr(0, field.path.size() - 1))));
  });
  return found == std::end(kFields) ? nullptr : found;
}

// The fields of Kueue beside an unknown one.
std::vector<std::string> siblings(std::string_view above) {
  std::vector<std::string> names;
  for (const Field& field : kFields) {
    std::string_view rest = field.path;
    if (!above.empty()) {
      if (!rest.starts_with(above) || rest.size() <= above.size() || rest[above.size()] != '.') {
        continue;
      }
      rest.remove_prefix(above.size() + 1);
    }
    names.emplace_back(rest.substr(0, rest.find('.')));
  }
  return names;
}

// Whether fields lie below a path.
bool is_group(std::string_view path) {
  return std::ranges::any_of(kFields, [&](const Field& field) {
    return field.path.size() > path.size() + 1 && field.path.starts_with(path) &&
           field.path[path.size()] == '.';
  });
}

std::string wrong_duration(const Value& value) {
  const auto duration = parse_go_duration(value.as_string());
  return value.is_string() && duration.ok() && *duration >= Duration::zero() &&
                 *duration <= std::chrono::seconds(kMostSeconds)
             ? ""
             : "must be a duration of at most a year, as 30m";
}

bool is_zero(const Value& duration) {
  const auto parsed = parse_go_duration(duration.as_string());
  return parsed.ok() && *parsed == Duration::zero();
}

std::string wrong_texts(const Value& value) {
  const auto items = value.items();
  return value.is_list() && std::ranges::all_of(items, [](const Value& v) { return v.is_string(); })
             ? ""
             : "must be a list of texts";
}

std::string wrong_strategies(const Value& value) {
  const Value both = Value::list({"LessThanOrEqualToFinalShare", "LessThanInitialShare"});
  const bool known =
      value == both || value == Value::list({both[0]}) || value == Value::list({both[1]});
  return known ? ""
               : "must be LessThanOrEqualToFinalShare, LessThanInitialShare, or both in this "
                 "order";
}

std::string wrong_gates(const Value& value) {
  if (!value.is_object()) {
    return "must be a map of gates to true or false";
  }
  for (const Member& gate : value.members()) {
    if (!gate.value.is_bool()) {
      return fmt::format("gate {} must be true or false", gate.key());
    }
    if (find_gate(gate.key()) == nullptr) {
      return unknown_gate(gate.key());
    }
  }
  return {};
}

// Returns what is wrong with a value; empty: nothing.
std::string wrong_value(Form form, const Value& value) {
  switch (form) {
    case Form::Format:
    case Form::Absent:
    case Form::Missing:
    case Form::Process:
    case Form::Namespace:
      return {};
    case Form::QuotaCheck:
      return value.as_string() == "BlockUndeclared" || value.as_string() == "IgnoreUndeclared"
                 ? ""
                 : "must be BlockUndeclared or IgnoreUndeclared";
    case Form::Flag:
      return value.is_bool() ? "" : "must be true or false";
    case Form::Duration:
    case Form::Timeout:
      return wrong_duration(value);
    case Form::Seconds:
    case Form::Count:
      return value.is_integer() && value.as_int(-1) >= 0 && value.as_int() <= kMostSeconds
                 ? ""
                 : "must be a whole number of at least 0";
    case Form::Timestamp:
      return value.as_string() == "Eviction" || value.as_string() == "Creation"
                 ? ""
                 : "must be Eviction or Creation";
    case Form::Strategies:
      return wrong_strategies(value);
    case Form::Frameworks:
    case Form::Texts:
      return wrong_texts(value);
    case Form::Transformations:
      return wrong_transformations(value);
    case Form::Selector: {
      const auto selector = LabelSelector::from_value(value);
      return value.is_object() && selector.ok() ? "" : "must be a label selector";
    }
    case Form::Gates:
      return wrong_gates(value);
  }
  return {};
}

class Reader {
 public:
  Reader(Value section, const std::vector<std::pair<std::string, std::size_t>>& lines)
      : section_(std::move(section)), lines_(lines.begin(), lines.end()) {}

  Result<Configuration> read(const Value& root) {
    if (!root.is_object()) {
      return fail("", "must be a map");
    }
    const std::string_view version = root["apiVersion"].as_string();
    if (!version.empty() && version != "config.kueue.x-k8s.io/v1beta1" &&
        version != "config.kueue.x-k8s.io/v1beta2") {
      return fail("apiVersion", fmt::format("version {} is unknown: config.kueue.x-k8s.io/v1beta1 "
                                            "and v1beta2 are read",
                                            json::print(root["apiVersion"])));
    }
    ATHANOR_TRY_VOID(walk(root, ""));
    // Named, it is on; v1beta1 has a flag of its own.
    for (const std::string_view name : {"waitForPodsReady", "fairSharing"}) {
      if (root[name].is_object() && root[name]["enable"].is_null()) {
        section_.set(name, version != "config.kueue.x-k8s.io/v1beta1");
      }
    }
    // The timeout of the start is that of the recovery, unless that is named, too.
    const Value& wait = root["waitForPodsReady"];
    if (!wait["timeout"].is_null() && !is_zero(wait["timeout"]) &&
        wait["recoveryTimeout"].is_null()) {
      section_.set("podsReadyRecoveryTimeout", wait["timeout"]);
    }
    return Configuration{.section = std::move(section_), .warnings = warnings()};
  }

 private:
  [[nodiscard]] Error fail(const std::string& path, const std::string& what) const {
    const auto line = lines_.find(path);
    const std::string place = path.empty() ? "" : path + ": ";
    return Error::bad_request(
        fmt::format("line {}: {}{}", line == lines_.end() ? 1 : line->second, place, what));
  }

  Result<void> walk(const Value& map, const std::string& above) {
    for (const Member& member : map.members()) {
      const std::string path =
          above.empty() ? std::string(member.key()) : fmt::format("{}.{}", above, member.key());
      if (const Field* field = find_field(path)) {
        ATHANOR_TRY_VOID(take(*field, path, member.value));
      } else if (is_group(path)) {
        if (!member.value.is_object() && !member.value.is_null()) {
          return fail(path, "must be a map");
        }
        ATHANOR_TRY_VOID(walk(member.value, path));
      } else {
        ATHANOR_TRY_VOID(take_unknown(path, above, member.key()));
      }
    }
    return {};
  }

  // A misspelt field is refused; a field of a newer Kueue has no effect.
  Result<void> take_unknown(const std::string& path, const std::string& above,
                            std::string_view name) {
    const auto line = lines_.find(path);
    const std::size_t at = line == lines_.end() ? 1 : line->second;
    if (const std::string hint = near_hint(name, siblings(above)); !hint.empty()) {
      return Error::bad_request(fmt::format("line {}: unknown field \"{}\"{}", at, path, hint));
    }
    unknown_.push_back(fmt::format("line {}: unknown field \"{}\" has no effect", at, path));
    return {};
  }

  Result<void> take(const Field& field, const std::string& path, const Value& value) {
    if (value.is_null()) {
      return {};
    }
    if (const std::string wrong = wrong_value(field.form, value); !wrong.empty()) {
      return fail(path, wrong);
    }
    switch (field.form) {
      case Form::Absent:
        absent_.emplace(path.substr(0, path.find('.')));
        return {};
      case Form::Missing:
        absent_.emplace(field.path.ends_with(".*") ? field.path.substr(0, field.path.size() - 2)
                                                   : field.path);
        return {};
      case Form::Frameworks:
        take_frameworks(value);
        break;
      case Form::Process:
        process_.emplace(field.path.ends_with(".*") ? path.substr(0, path.find('.')) : path);
        return {};
      case Form::Namespace:
        if (value.as_string() != kConfigurationNamespace) {
          absent_.insert(path);
        }
        return {};
      case Form::Gates:
        take_gates(value);
        return {};
      case Form::Transformations:
        section_.set(field.key, with_systems(value));
        return {};
      case Form::Timeout:
        if (is_zero(value)) {
          return {};
        }
        break;
      default:
        break;
    }
    if (field.key.empty()) {
      return {};
    }
    const std::size_t slash = field.key.find('/');
    if (slash == std::string_view::npos) {
      section_.set(field.key, value);
    } else {
      section_.set_path({field.key.substr(0, slash), field.key.substr(slash + 1)}, value);
    }
    return {};
  }

  void take_gates(const Value& gates) {
    for (const Member& gate : gates.members()) {
      const Gate& known = *find_gate(gate.key());
      if (known.effect == Gate::Effect::Setting) {
        section_.set(known.key, gate.value);
      } else if (!has_effect(known, gate.value.as_bool())) {
        absent_.insert(fmt::format("featureGates.{}", gate.key()));
      }
    }
  }

  void take_frameworks(const Value& names) {
    const auto known = known_frameworks();
    for (const Value& name : names.items()) {
      if (std::ranges::find(known, name.as_string()) == known.end()) {
        absent_.insert(fmt::format("integrations.frameworks {}", name.as_string()));
      }
    }
  }

  // What systems count as others stays, unless the configuration names the same input.
  [[nodiscard]] Value with_systems(const Value& written) const {
    Value all = written;
    for (const Value& one : section_[kSystemTransformations].items()) {
      if (std::ranges::none_of(written.items(), [&](const Value& other) {
            return other["input"] == one["input"];
          })) {
        all.push_back(one);
      }
    }
    return all;
  }

  [[nodiscard]] std::vector<std::string> warnings() const {
    std::vector<std::string> sentences;
    if (!process_.empty()) {
      sentences.push_back(
          fmt::format("without effect here: {}; the process takes these as flags, and a change of "
                      "a flag needs a restart",
                      fmt::join(process_, ", ")));
    }
    if (!absent_.empty()) {
      sentences.push_back(fmt::format("without effect here: {}", fmt::join(absent_, ", ")));
    }
    sentences.insert(sentences.end(), unknown_.begin(), unknown_.end());
    return sentences;
  }

  Value section_;
  std::map<std::string, std::size_t> lines_;
  std::set<std::string> process_{};
  std::set<std::string> absent_{};
  std::vector<std::string> unknown_{};
};

}  // namespace

std::string wrong_transformations(const Value& value) {
  if (!value.is_list()) {
    return "must be a list of {input, strategy, multiplyBy, outputs}";
  }
  std::vector<std::string> inputs;
  for (const Value& one : value.items()) {
    const std::string input = one["input"].str();
    if (input.empty() || std::ranges::find(inputs, input) != inputs.end()) {
      return "each transformation must name an input of its own";
    }
    inputs.push_back(input);
    const std::string_view strategy = one["strategy"].as_string();
    if (!one["strategy"].is_null() && strategy != "Retain" && strategy != "Replace") {
      return "a strategy must be Retain or Replace";
    }
    for (const Member& output : one["outputs"].members()) {
      const auto quantity = Quantity::parse(output.value);
      if (!quantity || quantity->is_negative()) {
        return "an output must be a quantity of at least 0";
      }
    }
    for (const Member& member : one.members()) {
      if (member.key() != "input" && member.key() != "strategy" && member.key() != "outputs" &&
          member.key() != "multiplyBy") {
        return "a transformation has input, strategy, multiplyBy and outputs only";
      }
    }
  }
  return {};
}

std::span<const std::string_view> known_frameworks() {
  return kFrameworks;
}

Result<Configuration> read_configuration(const Value& base, std::string_view text) {
  std::vector<std::pair<std::string, std::size_t>> lines;
  ATHANOR_TRY(const Value root, yaml::parse(text, {.strict = true, .lines = &lines}));
  return Reader(base.is_object() ? base : Value::object(), lines).read(root);
}

Result<Value> apply_configuration(const Value& base, std::string_view text) {
  ATHANOR_TRY(Configuration read, read_configuration(base, text));
  return std::move(read.section);
}

Value configured_by(const Value& section, const Value& config_map) {
  const Value& text = config_map["data"][kConfigurationKey];
  if (!text.is_string()) {
    return section;
  }
  auto read = apply_configuration(section, text.as_string());
  return read.ok() ? *std::move(read) : section;
}

Key configuration_map() {
  return {std::string(kConfigurationNamespace), std::string(kConfigurationName)};
}

}  // namespace athanor::api::kueue
