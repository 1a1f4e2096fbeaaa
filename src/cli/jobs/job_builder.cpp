// SPDX-License-Identifier: Apache-2.0
// Flags to manifest.
#include "cli/jobs/job_builder.hpp"

#include <fmt/core.h>

#include <charconv>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
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
    return Error::bad_request(
        fmt::format("--gpu {}: give type and count, as in --gpu a100:2", text));
  }
  return Value::object({{"gpuType", text.substr(0, colon)}, {"gpuCount", count}});
}

Result<std::pair<std::string, std::string>> parse_pair(std::string_view flag,
                                                       const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Error::bad_request(fmt::format("{} {}: give it as NAME=VALUE", flag, text));
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

Result<Value> build_forge(const SubmitOptions& options) {
  Value forge = Value::object({{"project", options.project}, {"args", Value::list()}});
  for (const std::string& arg : options.args) {
    forge.member("args").push_back(arg);
  }
  for (const std::string& setting : options.config) {
    ATHANOR_TRY(const auto pair, parse_pair("--config", setting));
    set_dotted(forge.member("configOverrides"), pair.first, parse_scalar(pair.second));
  }
  return forge;
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

}  // namespace

Result<Value> build_job(const SubmitOptions& options, const std::string& user) {
  if (options.project.empty()) {
    return Error::bad_request(
        "what shall run? give --project NAME (and --arg ...), or a manifest with -f FILE");
  }
  Value spec = Value::object();
  set_if(spec, "owner", options.owner.empty() ? user : options.owner);
  set_if(spec, "displayName", options.display_name);
  set_if(spec, "pipeline", options.pipeline);
  set_if(spec, "cluster", options.cluster);
  set_if(spec, "priority", options.priority);
  if (!options.gpu.empty()) {
    ATHANOR_TRY(Value hardware, parse_gpu(options.gpu));
    spec.set("hardware", std::move(hardware));
  }
  ATHANOR_TRY(Value forge, build_forge(options));
  spec.set("forge", std::move(forge));
  for (const std::string& variable : options.env) {
    ATHANOR_TRY(const auto pair, parse_pair("--env", variable));
    spec.member("env").set(pair.first, pair.second);
  }
  for (const std::string& secret : options.secret_refs) {
    spec.member("secretRefs").push_back(secret);
  }
  if (options.exclusive) {
    spec.set("exclusive", true);
  }
  Value metadata = Value::object();
  if (options.name.empty()) {
    metadata.set("generateName", name_prefix(options.project));
  } else {
    metadata.set("name", options.name);
  }
  const Kind& kind = api::kFournosJob;
  return Value::object({{"apiVersion", kind.api_version()},
                        {"kind", kind.name},
                        {"metadata", metadata},
                        {"spec", spec}});
}

Result<Value> read_job(std::string_view text, std::string_view name) {
  auto documents = yaml::parse_all(text);
  if (!documents.ok()) {
    return documents.error().with_context(name);
  }
  const Kind& kind = api::kFournosJob;
  if (documents->size() != 1) {
    return Error::bad_request(
        fmt::format("{}: holds {} objects; submit takes one FournosJob", name, documents->size()));
  }
  Value job = std::move(documents->front());
  if (job["kind"].as_string() != kind.name || job["apiVersion"].as_string() != kind.api_version()) {
    return Error::bad_request(fmt::format("{}: is a {} of {}, not a FournosJob of {}", name,
                                          json::print(job["kind"]), json::print(job["apiVersion"]),
                                          kind.api_version()));
  }
  return job;
}

}  // namespace athanor::cli
