// SPDX-License-Identifier: Apache-2.0
// Log records: rendering, the rate limit, and the one write to stderr.
#include "base/log.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/log_level.hpp"
#include "base/mutex.hpp"
#include "base/time.hpp"

namespace athanor::log {
namespace {

constexpr std::uint64_t kRecordsPerSecond = 10;
// Distinct messages remembered by the limiter; messages are literals, so a program has some
// hundreds.
constexpr std::size_t kMaxMessages = 4096;

// Counts records of one message within the current second.
struct Window {
  std::chrono::sys_seconds start{};
  std::uint64_t written = 0;
  std::uint64_t dropped = 0;
};

// The state of the process's log; guarded where it is not atomic.
struct Sink {
  std::atomic<Level> level{Level::Info};  // the more verbose of the two below
  std::atomic<Format> format{Format::Auto};
  Mutex mutex{};
  Level configured ATHANOR_GUARDED_BY(mutex) = Level::Info;  // by who runs the process
  Level asked ATHANOR_GUARDED_BY(mutex) = Level::Error;      // by objects of the API
  std::map<std::string, Window, std::less<>> windows ATHANOR_GUARDED_BY(mutex){};
  std::map<std::string, Level, std::less<>> asked_by ATHANOR_GUARDED_BY(mutex){};
};

Sink& sink() {
  static Sink instance;
  return instance;
}

std::string_view level_name(Level level) {
  switch (level) {
    case Level::Error:
      return "error";
    case Level::Warn:
      return "warn";
    case Level::Info:
      return "info";
    case Level::Debug:
      return "debug";
    case Level::Trace:
      return "trace";
  }
  return "info";
}

std::string_view level_colour(Level level) {
  switch (level) {
    case Level::Error:
      return "\x1b[31m";
    case Level::Warn:
      return "\x1b[33m";
    case Level::Info:
      return "\x1b[32m";
    case Level::Debug:
    case Level::Trace:
      return "\x1b[2m";
  }
  return "";
}

// Control characters never reach the terminal or break a line.
void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text);
  out += '"';
}

std::string render_json(Level level, Instant now, std::string_view message, Fields fields) {
  std::string line =
      fmt::format(R"({{"ts":"{}","level":"{}","msg":)", format_micro_time(now), level_name(level));
  append_quoted(line, message);
  for (const Field& field : fields) {
    line += ',';
    append_quoted(line, field.name);
    line += ':';
    append_quoted(line, field.value);
  }
  return line + "}\n";
}

// Colours are for people: on a terminal, unless they want none.
bool wants_colours() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread writes the environment
  static const bool kRefused = std::getenv("NO_COLOR") != nullptr;
  return !kRefused && ::isatty(STDERR_FILENO) != 0;
}

std::string render_text(Level level, Instant now, std::string_view message, Fields fields) {
  const bool colours = wants_colours();
  const std::string_view dim = colours ? "\x1b[2m" : "";
  const std::string_view plain = colours ? "\x1b[0m" : "";
  std::string line =
      fmt::format("{} {}{:5}{} ", format_micro_time(now).substr(11, 12),
                  colours ? level_colour(level) : std::string_view(), level_name(level), plain);
  append_escaped(line, message);
  for (const Field& field : fields) {
    line += fmt::format(" {}{}={}", dim, field.name, plain);
    if (field.value.empty() || field.value.find_first_of(" \"=") != std::string::npos) {
      append_quoted(line, field.value);
    } else {
      append_escaped(line, field.value);
    }
  }
  return line + "\n";
}

// How many records of this message were dropped before this one; nullopt when this one is dropped,
// too.
std::optional<std::uint64_t> admit(std::string_view message, Instant now) {
  Sink& state = sink();
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  const MutexLock lock(state.mutex);
  auto found = state.windows.find(message);
  if (found == state.windows.end()) {
    if (state.windows.size() >= kMaxMessages) {
      state.windows.clear();
    }
    found = state.windows.emplace(std::string(message), Window{}).first;
  }
  Window& window = found->second;
  std::uint64_t dropped = 0;
  if (window.start != second) {
    dropped = window.dropped;
    window = {.start = second, .written = 0, .dropped = 0};
  }
  if (window.written >= kRecordsPerSecond) {
    ++window.dropped;
    return std::nullopt;
  }
  ++window.written;
  return dropped;
}

void emit(Level level, Instant now, std::string_view message, Fields fields) {
  Format format = sink().format.load();
  if (format == Format::Auto) {
    format = ::isatty(STDERR_FILENO) != 0 ? Format::Text : Format::Json;
  }
  const std::string line = format == Format::Text ? render_text(level, now, message, fields)
                                                  : render_json(level, now, message, fields);
  // One call, one line: stdio locks the stream. A lost log line has nowhere to be reported.
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

}  // namespace

Field::Field(std::string_view field_name, std::int64_t number)
    : name(field_name), value(std::to_string(number)) {}

Field::Field(std::string_view field_name, std::uint64_t number)
    : name(field_name), value(std::to_string(number)) {}

void configure(Level level, Format format) {
  const MutexLock lock(sink().mutex);
  sink().configured = level;
  sink().level = std::max(level, sink().asked);
  sink().format = format;
}

void at_least(std::string_view source, Level level) {
  const MutexLock lock(sink().mutex);
  sink().asked_by.insert_or_assign(std::string(source), level);
  Level most = Level::Error;
  for (const auto& [name, asked] : sink().asked_by) {
    most = std::max(most, asked);
  }
  sink().asked = most;
  sink().level = std::max(most, sink().configured);
}

bool enabled(Level level) {
  return level <= sink().level.load(std::memory_order_relaxed);
}

void write(Level level, std::string_view message, Fields fields) {
  if (!enabled(level)) {
    return;
  }
  const Instant now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  const auto dropped = admit(message, now);
  if (!dropped) {
    return;
  }
  if (*dropped > 0) {
    emit(level, now, "records dropped by the rate limit",
         {{"dropped_message", message}, {"count", *dropped}});
  }
  emit(level, now, message, fields);
}

void write_always(Level level, std::string_view message, Fields fields) {
  if (enabled(level)) {
    emit(level, std::chrono::floor<Duration>(std::chrono::system_clock::now()), message, fields);
  }
}

}  // namespace athanor::log
