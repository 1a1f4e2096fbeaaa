// SPDX-License-Identifier: Apache-2.0
// Flags to manifest.
#include "cli/jobs/job_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "cli/output/filter.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/usage.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli {
namespace {

constexpr std::size_t kLongestPrefix = 50;  // children need room for their suffixes within 63

Result<Value> parse_gpu(const std::string& text) {
  const std::size_t colon = text.find(':');
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const char* start = colon == std::string::npos ? end : text.data() + colon + 1;
  const auto [stop, failure] = std::from_chars(start, end, count);
  if (colon == 0 || colon == std::string::npos || failure != std::errc{} || stop != end ||
      count < 1) {
    return wrong_usage(fmt::format("--gpu {}: give type and count, as in --gpu a100:2", text));
  }
  return Value::object({{"gpuType", text.substr(0, colon)}, {"gpuCount", count}});
}

Result<std::pair<std::string, std::string>> parse_pair(std::string_view flag,
                                                       const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return wrong_usage(fmt::format("{} {}: give it as NAME=VALUE", flag, text));
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

// A scalar as YAML reads it (64 is a number, true a boolean); anything else stays text.
Value parse_scalar(const std::string& text) {
  const auto parsed = yaml::parse(text);
  return parsed.ok() && !parsed->is_object() && !parsed->is_list() ? *parsed : Value(text);
}

void set_dotted(Value& root, const std::string& path, Value value) {
  Value* at = &root;
  std::size_t start = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', start)) {
    at = &at->member(path.substr(start, dot - start));
    start = dot + 1;
  }
  at->set(path.substr(start), std::move(value));
}

// "llm-d/Nightly" becomes "llm-d-nightly-": what generateName wants.
std::string name_prefix(const std::string& project) {
  std::string prefix;
  for (const char c : project.substr(0, kLongestPrefix)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain || upper) {
      prefix += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!prefix.empty() && prefix.back() != '-') {
      prefix += '-';
    }
  }
  if (prefix.empty()) {
    prefix = "job";
  }
  return prefix.back() == '-' ? prefix : prefix + "-";
}

void set_if(Value& spec, std::string_view key, const std::string& value) {
  if (!value.empty()) {
    spec.set(key, value);
  }
}

Result<void> set_pairs(Value& target, std::string_view flag,
                       const std::vector<std::string>& pairs) {
  for (const std::string& text : pairs) {
    ATHANOR_TRY(const auto pair, parse_pair(flag, text));
    target.set(pair.first, pair.second);
  }
  return {};
}

// What the flags say of forge, over what is there.
Result<void> set_forge(Value& spec, const SubmitOptions& options) {
  if (options.project.empty() && options.args.empty() && options.config.empty()) {
    return {};
  }
  Value& forge = spec.member("forge");
  set_if(forge, "project", options.project);
  if (!options.args.empty() || !forge.contains("args")) {
    forge.set("args", Value::list());
    for (const std::string& arg : options.args) {
      forge.member("args").push_back(arg);
    }
  }
  for (const std::string& setting : options.config) {
    ATHANOR_TRY(const auto pair, parse_pair("--config", setting));
    set_dotted(forge.member("configOverrides"), pair.first, parse_scalar(pair.second));
  }
  return {};
}

// What an API server has written into an object that is submitted again.
void remove_served_fields(Value& job) {
  Value& metadata = job.member("metadata");
  const bool is_copy = metadata.contains("uid");
  for (const char* member : {"uid", "resourceVersion", "generation", "creationTimestamp",
                             "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
                             "ownerReferences", "finalizers", "selfLink"}) {
    metadata.erase(member);
  }
  if (metadata["annotations"].contains("kubectl.kubernetes.io/last-applied-configuration")) {
    metadata.member("annotations").erase("kubectl.kubernetes.io/last-applied-configuration");
  }
  job.erase("status");
  if (job["spec"].contains("shutdown")) {
    job.member("spec").erase("shutdown");
  }
  if (is_copy && metadata.contains("name")) {
    // The object that it was printed from still has the name.
    metadata.set("generateName", name_prefix(metadata["name"].str()));
    metadata.erase("name");
  }
}

// Refuses what would make a job that fails at once.
Result<void> check_times(const SubmitOptions& options) {
  if (!options.ttl.empty() && !parse_length(options.ttl)) {
    return wrong_usage(
        fmt::format("--ttl {}: not a length of time such as 90s, 1h30m or 2d", options.ttl));
  }
  for (const auto& [flag, text] : {std::pair{"--lock-until", &options.lock_until},
                                   std::pair{"--start-at", &options.start_at}}) {
    if (!text->empty() && !parse_time(*text)) {
      return wrong_usage(
          fmt::format("{} {}: not a time such as 2026-01-31T08:00:00Z", flag, *text));
    }
  }
  return {};
}

}  // namespace

Result<void> override_job(Value& job, const SubmitOptions& options) {
  Value& spec = job.member("spec");
  set_if(spec, "owner", options.owner);
  set_if(spec, "displayName", options.display_name);
  set_if(spec, "pipeline", options.pipeline);
  set_if(spec, "cluster", options.cluster);
  set_if(spec, "priority", options.priority);
  if (!options.gpu.empty()) {
    ATHANOR_TRY(Value hardware, parse_gpu(options.gpu));
    spec.set("hardware", std::move(hardware));
  }
  ATHANOR_TRY_VOID(set_forge(spec, options));
  if (!options.engine.empty()) {
    const auto engine = yaml::parse(options.engine);
    if (!engine.ok() || !engine->is_object()) {
      return wrong_usage(fmt::format(
          "--engine {}: give a mapping, as in --engine '{{caliper: {{...}}}}'", options.engine));
    }
    spec.set("executionEngine", *engine);
  }
  if (!options.env.empty()) {
    ATHANOR_TRY_VOID(set_pairs(spec.member("env"), "--env", options.env));
  }
  for (const std::string& secret : options.secret_refs) {
    spec.member("secretRefs").push_back(secret);
  }
  ATHANOR_TRY_VOID(check_times(options));
  set_if(spec, "ttl", options.ttl);
  set_if(spec, "lockUntil", options.lock_until);
  set_if(spec, "scheduledStartTime", options.start_at);
  for (const auto& [key, on] :
       {std::pair{"exclusive", options.exclusive}, std::pair{"lockOnly", options.lock_only},
        std::pair{"clusterless", options.clusterless}}) {
    if (on) {
      spec.set(key, true);
    }
  }
  Value& metadata = job.member("metadata");
  if (!options.labels.empty()) {
    ATHANOR_TRY_VOID(set_pairs(metadata.member("labels"), "--label", options.labels));
  }
  if (!options.annotations.empty()) {
    ATHANOR_TRY_VOID(
        set_pairs(metadata.member("annotations"), "--annotation", options.annotations));
  }
  if (!options.name.empty()) {
    metadata.set("name", options.name);
    metadata.erase("generateName");
  }
  return {};
}

Result<Value> build_job(const SubmitOptions& options, const std::string& user) {
  if (options.project.empty() && options.engine.empty() && !options.lock_only) {
    return wrong_usage(
        "what shall run? give --project NAME (and --arg ...), or a manifest with -f FILE");
  }
  const Kind& kind = api::kFournosJob;
  Value job = Value::object({{"apiVersion", kind.api_version()},
                             {"kind", kind.name},
                             {"metadata", Value::object()},
                             {"spec", Value::object()}});
  set_if(job.member("spec"), "owner", user);
  if (options.name.empty()) {
    job.member("metadata").set("generateName", name_prefix(options.project));
  }
  ATHANOR_TRY_VOID(override_job(job, options));
  return job;
}

namespace {

// Documents of one text with their numbers; those that cannot be parsed are problems.
struct Documents {
  std::vector<std::pair<std::size_t, Value>> found{};
  std::vector<std::pair<std::size_t, std::string>> problems{};
  std::size_t count = 0;

  // A List stands for its items; an empty document is none.
  void add(Value document) {
    if (document["kind"].as_string().ends_with("List") && document["items"].is_list()) {
      for (const Value& item : document["items"].items()) {
        found.emplace_back(++count, item);
      }
    } else if (!document.is_null()) {
      found.emplace_back(++count, std::move(document));
    }
  }
};

// Returns the length of the first document of a text: up to a line "---".
std::size_t first_document(std::string_view text) {
  for (std::size_t at = text.find("\n---"); at != std::string_view::npos;
       at = text.find("\n---", at + 1)) {
    const std::size_t behind = at + 4;
    if (behind == text.size() ||
        std::string_view(" \t\r\n").find(text[behind]) != std::string_view::npos) {
      return at + 1;
    }
  }
  return text.size();
}

// Parses document by document, so that the errors of one hide none of the others; each keeps the
// numbers of its lines.
Documents parse_each(std::string_view text) {
  Documents documents;
  std::size_t lines_before = 0;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, first_document(text));
    auto parsed = yaml::parse_all(std::string(lines_before, '\n') + std::string(one));
    if (!parsed.ok()) {
      documents.problems.emplace_back(++documents.count, parsed.error().message);
    }
    for (Value& document : parsed.value_or({})) {
      documents.add(std::move(document));
    }
    lines_before += static_cast<std::size_t>(std::ranges::count(one, '\n'));
    text.remove_prefix(one.size());
  }
  return documents;
}

}  // namespace

JobBatch read_job_documents(std::string_view text, std::string_view name) {
  JobBatch batch;
  Documents documents = parse_each(text);
  const auto place_of = [&](std::size_t number) {
    return documents.count > 1 ? fmt::format("{}, document {}", name, number) : std::string(name);
  };
  for (const auto& [number, problem] : documents.problems) {
    batch.problems.push_back(fmt::format("{}: {}", place_of(number), problem));
  }
  const Kind& kind = api::kFournosJob;
  for (auto& [number, job] : documents.found) {
    std::string place = place_of(number);
    if (job["kind"].as_string() != kind.name ||
        job["apiVersion"].as_string() != kind.api_version()) {
      batch.problems.push_back(fmt::format("{}: is a {} of {}, not a FournosJob of {}", place,
                                           json::print(job["kind"]), json::print(job["apiVersion"]),
                                           kind.api_version()));
      continue;
    }
    remove_served_fields(job);
    batch.jobs.push_back({.job = std::move(job), .place = std::move(place)});
  }
  if (documents.count == 0) {
    batch.problems.push_back(fmt::format("{}: holds no object", name));
  }
  return batch;
}

Result<std::vector<Value>> read_jobs(std::string_view text, std::string_view name) {
  JobBatch batch = read_job_documents(text, name);
  if (!batch.problems.empty()) {
    return Error::bad_request(fmt::format("{}", fmt::join(batch.problems, "\n")));
  }
  std::vector<Value> jobs;
  for (PlacedJob& one : batch.jobs) {
    jobs.push_back(std::move(one.job));
  }
  return jobs;
}

}  // namespace athanor::cli
