// SPDX-License-Identifier: Apache-2.0
#include "console/data/controllers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "console/data/row_texts.hpp"

namespace athanor::console {
namespace {

// One line of Prometheus' text form.
struct MetricLine {
  std::string_view name{};
  std::string_view labels{};  // "a=\"b\",c=\"d\""
  double value = 0;
  // Returns a label's value, as written.
  [[nodiscard]] std::string_view label(std::string_view key) const;
};

std::string_view MetricLine::label(std::string_view key) const {
  std::string_view rest = labels;
  while (!rest.empty()) {
    const std::size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) {
      return {};
    }
    std::size_t end = equals + 2;
    while (end < rest.size() && rest[end] != '"') {
      end += rest[end] == '\\' ? 2 : 1;
    }
    end = std::min(end, rest.size());
    if (rest.substr(0, equals) == key) {
      return rest.substr(equals + 2, end - equals - 2);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
    rest.remove_prefix(rest.starts_with(',') ? 1 : 0);
  }
  return {};
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<MetricLine> metric_of(std::string_view line) {
  const std::size_t blank = line.rfind(' ');
  if (line.starts_with('#') || blank == std::string_view::npos) {
    return std::nullopt;
  }
  MetricLine metric{.name = line.substr(0, blank)};
  const std::string_view number = line.substr(blank + 1);
  const auto [rest, failed] =
      std::from_chars(number.data(), number.data() + number.size(), metric.value);
  if (failed != std::errc() || !std::isfinite(metric.value)) {
    return std::nullopt;
  }
  if (const std::size_t open = metric.name.find('{');
      open != std::string_view::npos && metric.name.ends_with('}')) {
    metric.labels = metric.name.substr(open + 1, metric.name.size() - open - 2);
    metric.name = metric.name.substr(0, open);
  }
  return metric;
}

struct ControllerFacts {
  double queue = 0;
  double active = 0;
  double errors = 0;
  double overdue = 0;
  std::size_t failing = 0;  // keys
  std::string last_error{};
  std::string waits_for{};  // kinds
};
using Controllers = std::map<std::string, ControllerFacts, std::less<>>;

Controllers read_metrics(std::string_view text) {
  Controllers all;
  while (!text.empty()) {
    const auto metric = metric_of(next_line(text));
    if (!metric) {
      continue;
    }
    if (metric->name == "workqueue_depth") {
      all[std::string(metric->label("name"))].queue = metric->value;
    } else if (metric->name == "controller_runtime_active_workers") {
      all[std::string(metric->label("controller"))].active = metric->value;
    } else if (metric->name == "controller_runtime_reconcile_errors_total") {
      all[std::string(metric->label("controller"))].errors = metric->value;
    } else if (metric->name == "athanor_overdue_keys") {
      all[std::string(metric->label("controller"))].overdue += metric->value;
    }
  }
  return all;
}

void add_queue(const Value& queue, Controllers& all) {
  for (const Value& key : queue["keys"].items()) {
    ControllerFacts& one = all[key["controller"].str()];
    if (const std::string error = key["error"].str(); !error.empty()) {
      ++one.failing;
      if (one.last_error.empty()) {
        one.last_error = fmt::format("{}: {}", key["key"].as_string(), error);
      }
    }
  }
  for (const Member& controller : queue["controllers"].members()) {
    ControllerFacts& one = all[std::string(controller.key())];
    for (const Value& kind : controller.value["waitsForLists"].items()) {
      one.waits_for += (one.waits_for.empty() ? "" : ", ") + kind.str();
    }
  }
}

// "1 key is", "2 keys are".
std::string keys_text(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count,
                     count == 1 ? fmt::format("key {}", one) : fmt::format("keys {}", many));
}

Value row_of_controller(const std::string& name, const ControllerFacts& facts) {
  std::string state = "healthy";
  std::string why;
  if (facts.overdue > 0) {
    state = "stuck";
    why = fmt::format("{} longer than 10 s for the caches",
                      keys_text(static_cast<std::size_t>(facts.overdue), "waits", "wait"));
  } else if (!facts.waits_for.empty()) {
    state = "waiting";
    why = "not listed yet: " + facts.waits_for;
  } else if (facts.failing > 0) {
    state = "failing";
    why = fmt::format("{} tried again after an error", keys_text(facts.failing, "is", "are"));
  }
  Value row = Value::object({{"name", name},
                             {"state", state},
                             {"queue", static_cast<std::int64_t>(facts.queue)},
                             {"active", static_cast<std::int64_t>(facts.active)},
                             {"errors", static_cast<std::int64_t>(facts.errors)},
                             {"failing", facts.failing}});
  set_text(row, "why", why);
  set_text(row, "lastError", facts.last_error);
  return row;
}

}  // namespace

Value controller_rows(std::string_view metrics, const Value& queue) {
  Controllers all = read_metrics(metrics);
  add_queue(queue, all);
  Value rows = Value::list();
  for (const auto& [name, facts] : all) {
    if (!name.empty()) {
      rows.push_back(row_of_controller(name, facts));
    }
  }
  return rows;
}

Value ready_checks(std::string_view text) {
  Value checks = Value::list();
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.starts_with("[+]") || line.starts_with("[-]")) {
      checks.push_back(Value::object({{"check", line.substr(3)}, {"ok", line[1] == '+'}}));
    }
  }
  return checks;
}

Value controller_watches(const Value& watches) {
  Value rows = Value::list();
  for (const Value& watch : watches.items()) {
    Value row = Value::object({{"kind", watch["resource"].str()},
                               {"group", watch["group"].str()},
                               {"listed", watch["listed"].as_bool()},
                               {"watching", watch["watching"].as_bool()},
                               {"events", watch["events"].as_int()},
                               {"lists", watch["lists"].as_int()}});
    for (const char* name : {"lagSeconds", "quietSeconds"}) {
      if (watch[std::string_view(name)].is_number()) {
        row.set(name, watch[std::string_view(name)]);
      }
    }
    set_text(row, "ns", watch["namespace"].as_string());
    set_text(row, "error", watch["error"].as_string());
    rows.push_back(std::move(row));
  }
  return rows;
}

Value leader_of(const Object& lease, Instant now) {
  const Value& spec = lease.spec();
  const auto renewed = parse_time(spec["renewTime"].as_string());
  const std::string holder = spec["holderIdentity"].str();
  const auto length = std::chrono::seconds(spec["leaseDurationSeconds"].as_int());
  Value leader = Value::object({{"name", lease.key().text()},
                                {"held", !holder.empty() && renewed && now <= *renewed + length}});
  set_text(leader, "holder", holder);
  set_text(leader, "since", spec["acquireTime"].as_string());
  set_text(leader, "renewed", spec["renewTime"].as_string());
  return leader;
}

Value leading_of(std::string_view metrics) {
  while (!metrics.empty()) {
    const auto metric = metric_of(next_line(metrics));
    if (metric && metric->name == "leader_election_master_status") {
      return metric->value > 0;
    }
  }
  return {};
}

}  // namespace athanor::console
