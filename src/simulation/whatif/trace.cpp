// SPDX-License-Identifier: Apache-2.0
// Reading and writing traces.
#include "simulation/whatif/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/ascii.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/value.hpp"
#include "simulation/whatif/trace_text.hpp"

namespace athanor::whatif {

namespace {

constexpr std::int64_t kMostGpus = 100'000;

constexpr std::string_view kColumns[] = {"submit",   "owner",    "gpu_type", "gpus",
                                         "duration", "priority", "cluster",  "exclusive"};
constexpr std::string_view kNeeded[] = {"submit", "owner", "duration"};

// Collects submissions and problems.
class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name), problems_(name) {}

  void problem(std::size_t line, std::string_view what) { problems_.add(line, what); }
  Problems& problems() { return problems_; }

  // One job, its fields as texts.
  void job(const Fields& fields, std::size_t line) {
    const auto field = [&](std::string_view key) { return field_of(fields, key); };
    Submission job{.owner = field("owner"),
                   .gpu_type = field("gpu_type"),
                   .priority = field("priority"),
                   .cluster = field("cluster"),
                   .line = line};
    if (job.owner.empty()) {
      problem(line, "owner is missing; name the team or person that submits");
    }
    read_submit(job, field("submit"));
    if (const auto duration = span_of(field("duration"));
        duration && *duration > Duration::zero()) {
      job.duration = *duration;
    } else {
      problem(line, fmt::format("duration \"{}\" is no length of time; write seconds or 90m, "
                                "1h30m, 2d, at most 365d",
                                field("duration")));
    }
    read_gpus(job, field("gpus"));
    read_exclusive(job, field("exclusive"));
    jobs_.push_back(std::move(job));
  }

  Result<Trace> finish() {
    if (jobs_.empty() && problems_.count() == 0) {
      problem(1, "no job; write one line per job below the header");
    }
    ATHANOR_TRY_VOID(problems_.check());
    // Times of day count from the first of them.
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (absolute_[i]) {
        jobs_[i].submit = *absolute_[i] - *first_;
      }
    }
    std::stable_sort(jobs_.begin(), jobs_.end(),
                     [](const Submission& a, const Submission& b) { return a.submit < b.submit; });
    return Trace{.name = std::string(name_), .jobs = std::move(jobs_)};
  }

 private:
  void read_submit(Submission& job, const std::string& text) {
    std::optional<Instant> at;
    if (const auto instant = parse_time(text)) {
      at = *instant;
      first_ = first_ ? std::min(*first_, *at) : *at;
    } else if (const auto offset = span_of(text)) {
      job.submit = *offset;
    } else {
      problem(job.line, fmt::format("submit \"{}\" is no time; write 2026-01-05T08:30:00Z, or how "
                                    "long after the start: seconds, 90m, 1d12h",
                                    text));
    }
    if (!absolute_.empty() && absolute_.back().has_value() != at.has_value() && !mixed_) {
      mixed_ = true;
      problem(job.line,
              "times of day and times since the start are mixed; use one of them in all "
              "lines");
    }
    absolute_.push_back(at);
  }

  void read_gpus(Submission& job, const std::string& text) {
    const auto gpus = text.empty() ? std::optional<std::int64_t>(0) : whole_number(text);
    if (!gpus || *gpus < 0 || *gpus > kMostGpus) {
      problem(job.line, fmt::format("gpus \"{}\" is no count; write a whole number from 0 to {}",
                                    text, kMostGpus));
      return;
    }
    job.gpus = *gpus;
    if (job.gpu_type.empty() && job.gpus > 0) {
      problem(job.line, fmt::format("{} GPUs of no type; fill gpu_type, or set gpus to 0", *gpus));
    } else if (!job.gpu_type.empty() && job.gpus == 0) {
      problem(job.line, fmt::format("gpu_type {} but no GPU; set gpus, or leave gpu_type empty",
                                    job.gpu_type));
    } else if (job.gpu_type.empty() && job.cluster.empty()) {
      problem(job.line, "neither GPUs nor a cluster; fill gpu_type and gpus, or cluster");
    }
  }

  void read_exclusive(Submission& job, const std::string& text) {
    job.exclusive = text == "true";
    if (!job.exclusive && !text.empty() && text != "false") {
      problem(job.line, fmt::format("exclusive \"{}\" is neither true nor false", text));
    } else if (job.exclusive && job.cluster.empty()) {
      problem(job.line, "exclusive without a cluster; name the cluster that the job takes alone");
    }
  }

  std::string_view name_;
  std::vector<Submission> jobs_{};
  std::vector<std::optional<Instant>> absolute_{};  // as long as jobs_
  std::optional<Instant> first_{};
  bool mixed_ = false;
  Problems problems_;
};

Result<Trace> read_jobs(std::string_view text, std::string_view name) {
  Reader reader(name);
  read_csv(text, {.known = kColumns, .needed = kNeeded}, reader.problems(),
           [&](const Fields& fields, std::size_t line) { reader.job(fields, line); });
  return reader.finish();
}

std::string scalar_text(const Value& value) {
  return value.is_integer() ? fmt::format("{}", value.as_int())
         : value.is_bool()  ? std::string(value.as_bool() ? "true" : "false")
                            : value.str();
}

Result<Trace> read_yaml(std::string_view text, std::string_view name) {
  std::vector<std::pair<std::string, std::size_t>> lines;
  yaml::ParseOptions options{.strict = true};
  options.lines = &lines;
  const auto parsed = yaml::parse(text, options);
  if (!parsed.ok()) {
    return parsed.error().with_context(name);
  }
  const std::map<std::string, std::size_t> line_of(lines.begin(), lines.end());
  const auto line_at = [&](const std::string& path) {
    const auto at = line_of.find(path);
    return at == line_of.end() ? std::size_t{1} : at->second;
  };
  Reader reader(name);
  const Value& root = *parsed;
  if (root["apiVersion"].as_string() != "athanor.dev/v1" || root["kind"].as_string() != "Trace" ||
      !root["jobs"].is_list()) {
    reader.problem(1,
                   "not a trace; it starts with \"apiVersion: athanor.dev/v1\" and \"kind: "
                   "Trace\", and \"jobs:\" is its list of jobs");
    return reader.finish();
  }
  static const std::map<std::string, std::string, std::less<>> kFields = {
      {"submit", "submit"},   {"owner", "owner"},        {"gpuType", "gpu_type"},
      {"gpus", "gpus"},       {"duration", "duration"},  {"priority", "priority"},
      {"cluster", "cluster"}, {"exclusive", "exclusive"}};
  const Value& jobs = root["jobs"];
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string path = fmt::format("jobs[{}]", i);
    const Value& job = jobs[i];
    if (!job.is_object()) {
      reader.problem(line_at(path), "a job is a map; write submit:, owner:, duration:, ...");
      continue;
    }
    Fields fields;
    for (const Member& member : job.members()) {
      const auto field = kFields.find(member.key());
      if (field == kFields.end()) {
        reader.problem(line_at(path + "." + std::string(member.key())),
                       fmt::format("\"{}\" is unknown; a job has submit, owner, gpuType, gpus, "
                                   "duration, priority, cluster, exclusive",
                                   member.key()));
        continue;
      }
      fields[field->second] = scalar_text(member.value);
    }
    reader.job(fields, line_at(path));
  }
  return reader.finish();
}

}  // namespace

Result<Trace> parse_trace(std::string_view text, std::string_view name) {
  const bool is_yaml = name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
  return is_yaml ? read_yaml(text, name) : read_jobs(text, name);
}

std::string to_csv(const Trace& trace) {
  std::string out = "submit,owner,gpu_type,gpus,duration,priority,cluster,exclusive\n";
  for (const Submission& job : trace.jobs) {
    out += fmt::format("{},{},{},{},{},{},{},{}\n",
                       std::chrono::duration_cast<std::chrono::seconds>(job.submit).count(),
                       job.owner, job.gpu_type, job.gpus,
                       std::chrono::duration_cast<std::chrono::seconds>(job.duration).count(),
                       job.priority, job.cluster, job.exclusive ? "true" : "");
  }
  return out;
}

}  // namespace athanor::whatif
