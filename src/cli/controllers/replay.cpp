// SPDX-License-Identifier: Apache-2.0
// athanor replay: a record through this program's controllers.
#include "runtime/journal/replay.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "base/time.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "kube/text/json.hpp"
#include "product/list.hpp"

namespace athanor::cli {
namespace {

const Operator* find_operator(std::string_view name) {
  for (const System* system : all_systems()) {
    for (const Operator* op : system->operators) {
      if (op->name == name) {
        return op;
      }
    }
  }
  return nullptr;
}

// "fournosjob patch FournosJob a/b status {...}"
std::string text_of(const Value& decision) {
  if (decision.contains("probe")) {
    return fmt::format("asks {}", decision["probe"].as_string());
  }
  if (decision.contains("act")) {
    return fmt::format("acts {} {}", decision["act"].as_string(), json::print(decision["args"]));
  }
  if (decision.contains("relist")) {
    return fmt::format("lists {} anew", decision["relist"].as_string());
  }
  const Value& target = decision["target"];
  std::string text = fmt::format("{} {} {} ", decision["controller"].as_string(),
                                 decision["verb"].as_string(), target["kind"].as_string());
  if (!target["namespace"].as_string().empty()) {
    text += target["namespace"].str() + "/";
  }
  text += target["name"].str();
  if (decision.contains("subresource")) {
    text += " " + decision["subresource"].str();
  }
  return decision.contains("body") ? text + " " + json::print(decision["body"]) : text;
}

class Report {
 public:
  explicit Report(const ReplayOptions& options) : options_(options), out_(STDOUT_FILENO) {}

  void add(std::size_t line, const runtime::ReplayedRun& run) {
    for (const runtime::Decision& decision : run.decisions) {
      const bool differs = decision.differs();
      const Value& shown = decision.now.is_null() ? decision.recorded : decision.now;
      const bool chosen =
          options_.controller.empty() || shown["controller"].as_string() == options_.controller;
      ++decisions_;
      differences_ += differs ? 1 : 0;
      if (chosen && (differs || !options_.differences)) {
        print(line, run.at, decision, differs);
      }
    }
  }
  void end(std::size_t lines, std::uint64_t skipped) {
    if (options_.output == Output::Json) {
      out_.print(json::print(Value::object({{"lines", lines},
                                            {"decisions", decisions_},
                                            {"differences", differences_},
                                            {"skipped", skipped}})) +
                 "\n");
      return;
    }
    out_.print(fmt::format(
        "{} lines, {} decisions, {} differ{}\n", lines, decisions_, differences_,
        skipped == 0 ? std::string() : fmt::format("; {} lines match no controller", skipped)));
  }
  [[nodiscard]] bool same() const { return differences_ == 0; }

 private:
  void print(std::size_t line, Instant at, const runtime::Decision& decision, bool differs) {
    if (options_.output == Output::Json) {
      Value entry = Value::object({{"line", line},
                                   {"at", format_micro_time(at)},
                                   {"differs", differs},
                                   {"now", decision.now}});
      if (differs) {
        entry.set("recorded", decision.recorded);
      }
      out_.print(json::print(entry) + "\n");
      return;
    }
    const std::string when = fmt::format("{} line {}", format_micro_time(at), line);
    if (!differs) {
      out_.print(fmt::format("  {}: {}\n", when, text_of(decision.now)));
      return;
    }
    if (!decision.recorded.is_null()) {
      out_.print(fmt::format("- {}: {}\n", when, text_of(decision.recorded)));
    }
    if (!decision.now.is_null()) {
      out_.print(fmt::format("+ {}: {}\n", when, text_of(decision.now)));
    }
  }

  const ReplayOptions& options_;
  Terminal out_;
  std::size_t decisions_ = 0;
  std::size_t differences_ = 0;
};

Result<bool> replay(const ReplayOptions& options) {
  std::ifstream file(options.file, std::ios::binary);
  std::string text;
  if (!std::getline(file, text)) {
    return Error::not_found(options.file + ": cannot be read");
  }
  const auto parse = [&](std::size_t line) -> Result<Value> {
    auto parsed = json::parse(text);
    return parsed.ok() ? std::move(parsed)
                       : parsed.error().with_context(fmt::format("{}:{}", options.file, line));
  };
  ATHANOR_TRY(const Value head, parse(1));
  auto opened = runtime::Replay::open(head, find_operator);
  if (!opened.ok()) {
    return opened.error().with_context(options.file);
  }
  runtime::Replay& machine = **opened;
  Report report(options);
  std::size_t line = 1;
  while ((options.until == 0 || line < options.until) && std::getline(file, text)) {
    ++line;
    if (file.eof()) {
      break;  // the writer's end came in the middle of a line
    }
    ATHANOR_TRY(const Value entry, parse(line));
    const auto run = machine.feed(entry);
    if (!run.ok()) {
      return run.error().with_context(fmt::format("{}:{}", options.file, line));
    }
    if (*run) {
      report.add(line, **run);
    }
  }
  report.end(line, machine.skipped());
  return report.same();
}

}  // namespace

int run(const ReplayOptions& options) {
  const auto same = replay(options);
  if (!same.ok()) {
    fail(same.error());
    return 2;
  }
  return *same ? 0 : 1;
}

}  // namespace athanor::cli
