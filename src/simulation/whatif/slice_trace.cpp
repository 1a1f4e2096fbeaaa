// SPDX-License-Identifier: Apache-2.0
#include "simulation/whatif/slice_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/ascii.hpp"
#include "simulation/whatif/trace_text.hpp"
#include "systems/das/gpus/mixes.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::whatif {
namespace {

constexpr std::int64_t kMostSlices = 128;  // of one pod
constexpr std::string_view kSliceColumns[] = {"submit", "profile", "duration", "count"};

constexpr std::string_view kNeededSliceColumns[] = {"submit", "profile", "duration"};

class SliceReader {
 public:
  explicit SliceReader(std::string_view name) : problems_(name) {}

  Problems& problems() { return problems_; }

  void request(const Fields& fields, std::size_t line) {
    const auto field = [&](std::string_view key) { return field_of(fields, key); };
    const auto seconds = [](const std::optional<Duration>& time) {
      return time ? std::chrono::duration<double>(*time).count() : -1;
    };
    SliceSubmission one{.submit = seconds(span_of(field("submit"))),
                        .duration = seconds(span_of(field("duration"))),
                        .line = line};
    if (one.submit < 0) {
      problems_.add(line,
                    fmt::format("submit \"{}\" is no time after the start; write seconds, 90m, "
                                "1d12h",
                                field("submit")));
    }
    if (one.duration <= 0) {
      problems_.add(line, fmt::format("duration \"{}\" is no length of time; write seconds or 90m, "
                                      "1h30m, 2d, at most 365d",
                                      field("duration")));
    }
    if (const auto profile = das::parse_profile(field("profile"))) {
      one.profile = profile->text();
    } else {
      problems_.add(line, fmt::format("profile \"{}\" is no MIG profile; write one as 1g.5gb",
                                      field("profile")));
    }
    const std::string count = field("count");
    const auto slices = count.empty() ? std::optional<std::int64_t>(1) : whole_number(count);
    if (slices && *slices >= 1 && *slices <= kMostSlices) {
      one.count = static_cast<int>(*slices);
    } else {
      problems_.add(line,
                    fmt::format("count \"{}\" is no number of slices; write a whole number from 1 "
                                "to {}",
                                count, kMostSlices));
    }
    trace_.push_back(std::move(one));
  }

  Result<SliceTrace> finish() {
    if (trace_.empty() && problems_.count() == 0) {
      problems_.add(1, "no request; write one line per pod below the header");
    }
    ATHANOR_TRY_VOID(problems_.check());
    std::ranges::stable_sort(trace_, {}, &SliceSubmission::submit);
    return std::move(trace_);
  }

 private:
  SliceTrace trace_{};
  Problems problems_;
};

// The model's profiles in the shapes of the mixes; empty: it lacks one.
std::vector<std::string> profiles_of(const das::GpuModel& model) {
  const das::MigTable& shapes = das::find_model(das::kDefaultModel)->table;
  std::vector<std::string> names;
  for (const std::string_view profile : das::kMixProfiles) {
    const das::MigProfile& shape = shapes.profiles[static_cast<std::size_t>(shapes.find(profile))];
    const auto found = std::ranges::find_if(model.table.profiles, [&](const das::MigProfile& one) {
      return one.compute == shape.compute && one.starts == shape.starts && one.size == shape.size &&
             one.most == shape.most;
    });
    if (found == model.table.profiles.end()) {
      return {};
    }
    names.push_back(found->name);
  }
  return names;
}

}  // namespace

Result<SliceTrace> parse_slice_trace(std::string_view text, std::string_view name) {
  SliceReader reader(name);
  read_csv(text, {.known = kSliceColumns, .needed = kNeededSliceColumns}, reader.problems(),
           [&](const Fields& fields, std::size_t line) { reader.request(fields, line); });
  return reader.finish();
}

bool is_mix(std::string_view name) {
  return std::ranges::find(das::standard_mixes(), name, &das::Mix::name) !=
         das::standard_mixes().end();
}

Result<SliceTrace> trace_of_mix(std::string_view name, const MixPlan& plan) {
  const auto mix = std::ranges::find(das::standard_mixes(), name, &das::Mix::name);
  const std::vector<std::string> profiles = profiles_of(*plan.model);
  if (profiles.empty()) {
    return Error::bad_request(
        fmt::format("mix {} needs a GPU with seven compute slices, and {} is none; give a trace of "
                    "its profiles",
                    name, plan.model->key));
  }
  SliceTrace trace;
  for (const das::Arrival& one : das::arrivals_of(*mix, {.gpus = plan.gpus,
                                                        .arrivals = static_cast<int>(plan.requests),
                                                        .load = plan.load,
                                                        .seed = plan.seed})) {
    trace.push_back({.submit = one.at, .profile = profiles[one.kind], .duration = one.life});
  }
  return trace;
}

}  // namespace athanor::whatif
