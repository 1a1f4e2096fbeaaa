// SPDX-License-Identifier: Apache-2.0
// The report as one page: no script, no external resource; light and dark.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "simulation/whatif/report.hpp"

namespace athanor::whatif {

namespace {

constexpr const char* kStyle = R"css(
:root { --ink: #1c2330; --soft: #5b6475; --line: #d9dde4; --paper: #ffffff; --a: #2a6fdb; --b: #d9772b;
  --fill: #f4f6f9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #9aa4b5; --line: #343c4a;
  --paper: #14181f; --a: #6aa5ff; --b: #f0a460; --fill: #1c222c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.5rem 0 .5rem; }
p { margin: .25rem 0 .75rem; color: var(--soft); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.figure { background: var(--fill); border-radius: .5rem; padding: .7rem .9rem; }
.figure b { display: block; font-size: 1.25rem; font-weight: 600; } .figure span { color: var(--soft); font-size: .85rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 500; font-size: .85rem; } th:first-child, td:first-child { text-align: left; }
td .key, .key { display: inline-block; width: .65rem; height: .65rem; border-radius: .15rem; margin-right: .4rem; }
.a { background: var(--a); } .b { background: var(--b); }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--soft); font-size: 11px; }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .name { fill: var(--ink); font-size: 12px; }
svg .la { fill: none; stroke: var(--a); stroke-width: 1.6; } svg .lb { fill: none; stroke: var(--b); stroke-width: 1.6; }
svg .fa { fill: var(--a); } svg .fb { fill: var(--b); } svg .za { fill: var(--a); opacity: .13; }
svg .zb { fill: var(--b); opacity: .13; }
)css";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

char letter(std::size_t fleet) {
  return fleet == 0 ? 'a' : 'b';
}

// The least "round" number at or above `value`: 1, 2 or 5 times a power of ten.
double round_up(double value) {
  if (value <= 0) {
    return 1;
  }
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0, 10.0}) {
    if (step * power >= value - 1e-9) {
      return step * power;
    }
  }
  return 10 * power;
}

// What every reader asks first.
std::string figures(const std::vector<Report>& reports) {
  std::string out;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const Report& report = reports[i];
    std::string used;
    for (const auto& [type, usage] : report.usage) {
      used +=
          fmt::format("{}{} {:.0f} %", used.empty() ? "" : ", ", escaped(type), 100 * usage.mean);
    }
    const auto figure = [&](const std::string& value, const char* what) {
      return fmt::format("<div class=\"figure\"><b>{}</b><span>{}</span></div>", value, what);
    };
    out += fmt::format("<h2><span class=\"key {}\"></span>{}</h2>\n<div class=\"figures\">",
                       letter(i), escaped(report.fleet));
    out += figure(fmt::format("{} of {}", report.succeeded, report.jobs), "jobs succeeded");
    if (report.evictions > 0) {
      out += figure(std::to_string(report.evictions), "evictions");
    }
    out += figure(short_time(report.all.p50), "median wait");
    out += figure(short_time(report.all.p95), "wait of the slowest 5 %, at least");
    out += figure(short_time(report.hours * 3600), "from first submission to last end");
    out += figure(used.empty() ? "-" : used, "GPUs in use, mean");
    out += "</div>\n";
  }
  return out;
}

// One chart of curves over the time; all fleets together.
struct Curve {
  std::size_t fleet = 0;
  std::vector<std::pair<double, double>> points{};  // hours, value
};

std::string curves_chart(const std::vector<Curve>& curves, double most, const char* unit) {
  constexpr double kWidth = 900;
  constexpr double kHeight = 220;
  constexpr double kLeft = 48;
  constexpr double kBottom = 26;
  constexpr double kTop = 10;
  double hours = 1;
  for (const Curve& curve : curves) {
    for (const auto& [hour, value] : curve.points) {
      hours = std::max(hours, hour);
    }
  }
  const auto x = [&](double hour) { return kLeft + (kWidth - kLeft - 6) * hour / hours; };
  const auto y = [&](double value) {
    return kTop + (kHeight - kTop - kBottom) * (1 - std::min(1.0, value / most));
  };
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">", kWidth, kHeight);
  for (int i = 0; i <= 4; ++i) {
    const double value = most * i / 4;
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}{6}</text>",
        kLeft, kWidth - 6, y(value), kLeft - 6, y(value) + 4, value, unit);
  }
  const bool days = hours > 72;
  const double step = round_up((days ? hours / 24 : hours) / 8) * (days ? 24 : 1);
  for (double hour = 0; hour <= hours; hour += step) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:g}{}</text>", x(hour),
                       kHeight - 8, days ? hour / 24 : hour, days ? " d" : " h");
  }
  for (const Curve& curve : curves) {
    if (curve.points.empty()) {
      continue;
    }
    std::string path;
    for (const auto& [hour, value] : curve.points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(hour), y(value));
    }
    out += fmt::format(
        "<path class=\"z{0}\" d=\"{1}L{2:.1f} {3:.1f}L{4:.1f} {3:.1f}Z\"/>"
        "<path class=\"l{0}\" d=\"{1}\"/>",
        letter(curve.fleet), path, x(curve.points.back().first), y(0),
        x(curve.points.front().first));
  }
  return out + "</svg>\n";
}

std::string queue_chart(const std::vector<Report>& reports) {
  std::vector<Curve> curves;
  double most = 1;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    Curve curve{.fleet = i};
    for (const Stretch& stretch : reports[i].over_time) {
      curve.points.emplace_back(stretch.hours, stretch.queued);
      most = std::max(most, stretch.queued);
    }
    curves.push_back(std::move(curve));
  }
  return curves_chart(curves, round_up(most), "");
}

std::string usage_charts(const std::vector<Report>& reports) {
  std::set<std::string> types;
  for (const Report& report : reports) {
    for (const auto& [type, usage] : report.usage) {
      types.insert(type);
    }
  }
  std::string out;
  for (const std::string& type : types) {
    std::vector<Curve> curves;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      Curve curve{.fleet = i};
      for (const Stretch& stretch : reports[i].over_time) {
        const auto at = stretch.busy.find(type);
        if (at != stretch.busy.end()) {
          curve.points.emplace_back(stretch.hours, 100 * at->second);
        }
      }
      curves.push_back(std::move(curve));
    }
    out +=
        fmt::format("<h2>GPUs in use: {}</h2>\n", escaped(type)) + curves_chart(curves, 100, " %");
  }
  return out;
}

using Groups = std::map<std::string, Waiting> Report::*;

// Bars from the median to the 95th percentile, by group; all fleets together.
std::string waiting_chart(const std::vector<Report>& reports, Groups groups) {
  std::set<std::string> names;
  double most = 60;
  for (const Report& report : reports) {
    for (const auto& [name, waiting] : report.*groups) {
      names.insert(name);
      most = std::max(most, waiting.p95);
    }
  }
  constexpr double kWidth = 900;
  constexpr double kLeft = 130;
  constexpr double kBar = 12;
  const double row = 10 + (kBar + 3) * static_cast<double>(reports.size());
  const double height = row * static_cast<double>(names.size()) + 30;
  const auto x = [&](double seconds) { return kLeft + (kWidth - kLeft - 60) * seconds / most; };
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\">", kWidth, height);
  for (int i = 0; i <= 4; ++i) {
    const double value = most * i / 4;
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1:.1f}\"/>"
        "<text x=\"{0:.1f}\" y=\"{2:.1f}\" text-anchor=\"middle\">{3}</text>",
        x(value), height - 22, height - 6, short_time(value));
  }
  double top = 4;
  for (const std::string& name : names) {
    out += fmt::format("<text class=\"name\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
                       kLeft - 8, top + row / 2, escaped(name));
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const auto& all = reports[i].*groups;
      const auto at = all.find(name);
      if (at == all.end()) {
        continue;
      }
      const double y = top + (kBar + 3) * static_cast<double>(i);
      const Waiting& waiting = at->second;
      out += fmt::format(
          "<rect class=\"f{0}\" opacity=\".35\" x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{3:.1f}\" "
          "height=\"{4}\"><title>{5}: 95th percentile {6}</title></rect>"
          "<rect class=\"f{0}\" x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{7:.1f}\" height=\"{4}\">"
          "<title>{5}: median {8}</title></rect>",
          letter(i), kLeft, y, std::max(1.0, x(waiting.p95) - kLeft), kBar, escaped(name),
          short_time(waiting.p95), std::max(1.0, x(waiting.p50) - kLeft), short_time(waiting.p50));
    }
    top += row;
  }
  return out + "</svg>\n";
}

std::string waiting_table(const std::vector<Report>& reports, Groups groups, const char* what) {
  std::string out = fmt::format(
      "<div class=\"scroll\"><table><tr><th>{}</th><th>jobs</th><th>mean</th><th>p50</th>"
      "<th>p90</th><th>p95</th><th>p99</th><th>longest</th></tr>\n",
      what);
  std::set<std::string> names;
  for (const Report& report : reports) {
    for (const auto& [name, waiting] : report.*groups) {
      names.insert(name);
    }
  }
  const auto row = [&](std::size_t fleet, const std::string& name, const Waiting& waiting) {
    out += fmt::format("<tr><td><span class=\"key {}\"></span>{}</td><td>{}</td>", letter(fleet),
                       escaped(name), waiting.jobs);
    for (const double value :
         {waiting.mean, waiting.p50, waiting.p90, waiting.p95, waiting.p99, waiting.most}) {
      out += fmt::format("<td>{}</td>", short_time(value));
    }
    out += "</tr>\n";
  };
  for (const std::string& name : names) {
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const auto at = (reports[i].*groups).find(name);
      if (at != (reports[i].*groups).end()) {
        row(i, name, at->second);
      }
    }
  }
  for (std::size_t i = 0; i < reports.size(); ++i) {
    row(i, "all", reports[i].all);
  }
  return out + "</table></div>\n";
}

}  // namespace

std::string to_html(const std::vector<Report>& reports, const std::string& trace_name) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>athanor simulate: {0}</title>\n<style>{1}</style>\n</head>\n<body>\n"
      "<h1>{0}</h1>\n<p>{2} jobs in virtual time{3}. Waiting is the time from a job's submission "
      "to its admission to a cluster, and from each eviction to the next admission.</p>\n",
      escaped(trace_name), kStyle, reports.empty() ? 0 : reports.front().jobs,
      reports.size() > 1 ? ", once on each of two fleets" : "");
  out += figures(reports);
  out += "<h2>Jobs that wait</h2>\n" + queue_chart(reports);
  out += usage_charts(reports);
  out += "<h2>Waiting by owner</h2>\n<p>Full bar: median. Pale bar: 95th percentile.</p>\n" +
         waiting_chart(reports, &Report::by_owner) +
         waiting_table(reports, &Report::by_owner, "owner");
  out += "<h2>Waiting by GPU type</h2>\n" + waiting_chart(reports, &Report::by_gpu) +
         waiting_table(reports, &Report::by_gpu, "GPU type");
  return out + "</body>\n</html>\n";
}

}  // namespace athanor::whatif
