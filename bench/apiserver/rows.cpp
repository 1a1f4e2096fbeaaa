// SPDX-License-Identifier: Apache-2.0
#include "apiserver/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "apiserver/fan_out.hpp"
#include "apiserver/load.hpp"
#include "apiserver/objects.hpp"

namespace athanor::bench {
namespace {

constexpr std::size_t kConnections = 4;
const std::string kObjects = "bench";
const std::string kDeleted = "bench-deleted";
const std::string kWatched = "bench-watched";

void print_row(std::string_view name, const std::vector<double>& latency, double seconds) {
  fmt::print(
      R"({{"row":"{}","count":{},"rate":{:.1f},"p50":{:.3f},"p99":{:.3f},"min":{:.3f},"max":{:.3f}}})"
      "\n",
      name, latency.size(), seconds > 0 ? static_cast<double>(latency.size()) / seconds : 0,
      quantile(latency, 0.5), quantile(latency, 0.99), quantile(latency, 0), quantile(latency, 1));
  std::fflush(stdout);
}

// Runs a load and prints it as a row; unnamed ones are preparations.
Result<Outcome> measure(Http2Client& client, std::string_view name, const Load& load) {
  auto outcome = run_load(client, load);
  if (!outcome.ok()) {
    return outcome.error().with_context(name.empty() ? "preparing" : name);
  }
  if (!name.empty()) {
    print_row(name, outcome->latency, outcome->seconds);
  }
  return outcome;
}

Result<void> prepare(Http2Client& client, const Sizes& sizes) {
  for (const std::string& name : {kObjects, kDeleted, kWatched}) {
    ATHANOR_TRY_VOID(ask(client, create_namespace(name)));
  }
  ATHANOR_TRY_VOID(ask(client, create_object(kWatched, 0)));
  const Load doomed{.count = sizes.requests, .clients = 64, .query = [](std::size_t i) {
                      return create_object(kDeleted, i);
                    }};
  ATHANOR_TRY_VOID(measure(client, "", doomed));
  return {};
}

Result<void> create_all(Http2Client& client, const Sizes& sizes) {
  struct Step {
    std::size_t clients;
    std::size_t tenths;  // of the objects
  };
  std::size_t first = 0;
  for (const Step step : {Step{1, 1}, Step{4, 2}, Step{16, 3}, Step{64, 4}}) {
    const std::size_t count = sizes.objects * step.tenths / 10;
    const Load load{.count = count, .clients = step.clients, .query = [first](std::size_t i) {
                      return create_object(kObjects, first + i);
                    }};
    ATHANOR_TRY_VOID(measure(client, fmt::format("create-{}", step.clients), load));
    first += count;
  }
  return {};
}

Result<void> read_and_write(Http2Client& client, const Sizes& sizes) {
  // Another object each time, none twice in a row.
  const auto pick = [objects = sizes.objects](std::size_t i) { return i * 7919 % objects; };
  struct Row {
    std::string_view name;
    std::size_t count;
    std::size_t clients;
    std::function<Query(std::size_t)> query;
  };
  const std::array rows = {
      Row{"get-1", sizes.requests, 1, [&](std::size_t i) { return get_object(kObjects, pick(i)); }},
      Row{"get-32", sizes.requests * 3, 32,
          [&](std::size_t i) { return get_object(kObjects, pick(i)); }},
      Row{"update-16", sizes.requests, 16,
          [&](std::size_t i) { return replace_object(kObjects, pick(i), i + 1); }},
      Row{"patch-16", sizes.requests, 16,
          [&](std::size_t i) { return patch_object(kObjects, pick(i), i + 1); }},
      Row{"apply-16", sizes.requests, 16,
          [&](std::size_t i) { return apply_object(kObjects, pick(i), i + 1); }},
      Row{"delete-16", sizes.requests, 16,
          [&](std::size_t i) { return delete_object(kDeleted, i); }}};
  for (const Row& row : rows) {
    ATHANOR_TRY_VOID(measure(client, row.name,
                             {.count = row.count, .clients = row.clients, .query = row.query}));
  }
  return {};
}

Result<void> write_rows(const Server& server, const Sizes& sizes) {
  ATHANOR_TRY(const auto client, Http2Client::open(server, kConnections));
  ATHANOR_TRY_VOID(prepare(*client, sizes));
  ATHANOR_TRY_VOID(create_all(*client, sizes));
  return read_and_write(*client, sizes);
}

// Lists that hold less than this are not what was asked for.
Result<void> check_bytes(const Outcome& outcome, std::size_t lists, std::size_t objects) {
  constexpr std::size_t kLeast = 1100;  // of an object
  if (outcome.bytes < lists * objects * kLeast) {
    return Error::internal(
        fmt::format("{} bytes in {} lists of {} objects", outcome.bytes, lists, objects));
  }
  return {};
}

Result<void> whole_list(Http2Client& client, std::string_view name, std::size_t objects,
                        std::size_t times) {
  ATHANOR_TRY(const Outcome all,
              measure(client, name, {.count = times, .query = [](std::size_t) {
                                       return Query{.path = collection_path(kObjects)};
                                     }}));
  return check_bytes(all, times, objects);
}

// Where the next page begins; empty after the last one.
std::string continue_of(const std::string& page) {
  constexpr std::string_view kField = R"("continue":")";
  const std::size_t start = page.find(kField);
  if (start == std::string::npos) {
    return {};
  }
  const std::size_t text = start + kField.size();
  return page.substr(text, page.find('"', text) - text);
}

Result<void> paged_list(Http2Client& client) {
  std::vector<double> totals;
  std::vector<double> first_pages;
  for (int i = 0; i < 5; ++i) {
    const std::string path = collection_path(kObjects) + "?limit=500";
    const auto start = Clock::now();
    ATHANOR_TRY(Answer page, ask(client, {.path = path}));
    first_pages.push_back(page.milliseconds);
    for (std::string next = continue_of(page.body); !next.empty(); next = continue_of(page.body)) {
      ATHANOR_TRY(page, ask(client, {.path = fmt::format("{}&continue={}", path, next)}));
    }
    totals.push_back(milliseconds_since(start));
  }
  print_row("list-pages", totals, 0);
  print_row("list-first-page", first_pages, 0);
  return {};
}

Result<void> list_rows(const Server& server, const Sizes& sizes) {
  ATHANOR_TRY(const auto client, Http2Client::open(server, kConnections));
  ATHANOR_TRY_VOID(whole_list(*client, "list", sizes.objects, 7));
  ATHANOR_TRY_VOID(paged_list(*client));
  constexpr std::size_t kTimes = 15;
  const Load by_label{
      .count = kTimes, .query = [](std::size_t) {
        return Query{.path = collection_path(kObjects) + "?labelSelector=group%3Dg3"};
      }};
  ATHANOR_TRY(const Outcome selected, measure(*client, "list-label", by_label));
  return check_bytes(selected, kTimes, sizes.objects / 10);
}

Result<void> watch_rows(const Server& server, const Sizes& sizes) {
  struct Step {
    std::size_t watchers;
    std::size_t writes_per_second;
  };
  for (const Step step : {Step{1, 50}, Step{100, 50}, Step{500, 25}}) {
    ATHANOR_TRY(const auto client, Http2Client::open(server, connections_for(step.watchers)));
    auto arrivals =
        run_fan_out(*client, {.watchers = step.watchers,
                              .writes = step.writes_per_second * sizes.fan_out_seconds,
                              .writes_per_second = static_cast<double>(step.writes_per_second),
                              .ns = kWatched});
    const std::string name = fmt::format("watch-{}", step.watchers);
    if (!arrivals.ok()) {
      return arrivals.error().with_context(name);
    }
    print_row(name, arrivals->latency, arrivals->seconds);
  }
  return {};
}

Result<void> fill_rows(const Server& server, const Sizes& sizes) {
  ATHANOR_TRY(const auto client, Http2Client::open(server, kConnections));
  const Load rest{.count = sizes.filled - sizes.objects,
                  .clients = 64,
                  .query = [first = sizes.objects](std::size_t i) {
                    return create_object(kObjects, first + i);
                  }};
  ATHANOR_TRY_VOID(measure(*client, "fill-64", rest));
  return whole_list(*client, "list-filled", sizes.filled, 5);
}

Result<void> restarted_rows(const Server& server, const Sizes& sizes) {
  ATHANOR_TRY(const auto client, Http2Client::open(server, 1));
  return whole_list(*client, "list-restarted", sizes.filled, 2);
}

struct Phase {
  std::string_view name;
  Result<void> (*run)(const Server& server, const Sizes& sizes);
};
constexpr std::array kPhases = {Phase{"write", write_rows}, Phase{"list", list_rows},
                                Phase{"watch", watch_rows}, Phase{"fill", fill_rows},
                                Phase{"restarted", restarted_rows}};

}  // namespace

std::string phases() {
  std::string names;
  for (const Phase& phase : kPhases) {
    names += (names.empty() ? "" : ", ") + std::string(phase.name);
  }
  return names;
}

Result<void> run_phase(std::string_view phase, const Server& server, const Sizes& sizes) {
  const auto* found = std::ranges::find(kPhases, phase, &Phase::name);
  if (found == kPhases.end()) {
    return Error::bad_request(fmt::format("no phase {}: {}", phase, phases()));
  }
  return found->run(server, sizes);
}

}  // namespace athanor::bench
